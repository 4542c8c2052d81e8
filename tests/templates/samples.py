"""Templates in the ways that models have them: roles, tools, calls, parts, loops."""

from typing import Final

from tests.support.tiny_gguf import TEMPLATE

NO_SYSTEM: Final = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('No!') }}{% endif %}"
    "{% if m.role == 'user' %}{{ '[INST] ' + m.content | trim + ' [/INST]' }}"
    "{% elif m.role == 'assistant' %}{{ m.content + eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant!') }}{% endif %}{% endfor %}"
)
THINKS: Final = (
    "{%- for m in messages %}\n"
    "    {{- '<|' + m.role + '|>' + m.content }}\n"
    "    {%- for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}\n"
    "{%- endfor %}\n"
    "{%- if tools %}{{ tools | tojson(indent=2) }}{% endif %}\n"
    "{%- if add_generation_prompt %}<|assistant|>"
    "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}\n"
    "{%- endif %}"
)
COUNTED: Final = (
    "{%- if not tools is defined %}{% set tools = none %}{% endif %}\n"
    "{%- set ns = namespace(turn=0, last='') %}\n"
    "{{- bos_token }}Turns: {{ messages | length }}.\n"
    "{% for m in messages %}\n"
    "  {% if m.role == 'tool' %}{% continue %}{% endif %}\n"
    "  {% set ns.turn = ns.turn + 1 %}\n"
    "{{ ns.turn }}. {% generation %}{{ m['content'] | default('', true) }}{% endgeneration %}\n"
    "\n"
    "{% endfor %}\n"
    "{% if tools is not none %}{% for t in tools %}{{ t.function.name }}: "
    "{{ t.function.parameters | tojson }}\n"
    "{% endfor %}{% endif %}"
)
FIRST_CALL_ONLY: Final = (
    "{%- macro shown(m) -%}{{ m.role | upper }}: {{ m.content }}{%- endmacro -%}\n"
    "{%- for m in messages if m.role != 'tool' -%}\n"
    "{{ shown(m) }}\n"
    "{%- if m.tool_calls is defined and m.tool_calls -%}\n"
    "  {%- if m.tool_calls | length > 1 -%}{{ raise_exception('One at a time') }}{%- endif -%}\n"
    "  {{ m.tool_calls[0].function.name }}({% for key, value in "
    "m.tool_calls[0].function.arguments.items() %}{{ key }}={{ value }}{% endfor %})\n"
    "{%- endif -%}\n"
    "{{ eos_token }}\n"
    "{%- endfor -%}\n"
    "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}"
)
PARTS: Final = (
    "{% for m in messages %}{{ m.role }}={% if m.content is string %}{{ m.content }}"
    "{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %};"
    "{% if loop.last and add_generation_prompt %}assistant={% endif %}{% endfor %}"
)
SAMPLES: Final = {
    "tiny": TEMPLATE,
    "no system": NO_SYSTEM,
    "thinks": THINKS,
    "counted": COUNTED,
    "first call only": FIRST_CALL_ONLY,
    "parts": PARTS,
}
