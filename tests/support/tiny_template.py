"""The chat template of the scripted model: it picks the reply from the last message."""

# ruff: noqa: E501 -- a template's white space counts

TEMPLATE = r"""
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}
    {{- "# Tools\n\nYou may call functions. Signatures are within <tools></tools>:\n<tools>" }}
    {%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\n</tools>\n\nFor each call return a json object within <tool_call></tool_call>:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>assistant\n' }}
        {%- if message.reasoning_content %}{{- '<think>\n' + message.reasoning_content + '\n</think>\n\n' }}{%- endif %}
        {%- if message.content %}{{- message.content }}{%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
                {{- '\n<tool_call>\n{"name": "' + tool_call.name + '", "arguments": ' }}
                {%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
                {{- '}\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- set last = messages[-1].content if messages[-1].content is string else '' %}
    {%- if messages[-1].role == 'tool' %}{{- '<|say:after|>' }}
    {%- elif 'forever' in last %}{{- '<|say:forever|>' }}
    {%- elif 'markdown' in last %}{{- '<|say:markdown|>' }}
    {%- elif 'unicode' in last %}{{- '<|say:unicode|>' }}
    {%- elif 'think' in last %}{{- '<|say:think|>' }}
    {%- elif tools and 'weather' in last %}{{- '<|say:tool|>' }}
    {%- elif tools and 'tool' in last %}{{- '<|say:call|>' }}
    {%- else %}{{- '<|say:hello|>' }}
    {%- endif %}
{%- endif %}
"""
