# Everything runs from a virtual environment in .venv that these targets make themselves.
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python,$(if $(shell $(p) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(p))))
BIN := .venv/bin
BOOTSTRAP = $(PYTHON) scripts/bootstrap.py
# The tests of a file stay together, in their order; JOBS=0 runs all in the process of pytest itself.
JOBS ?= 6
SIDE_BY_SIDE = -n $(JOBS) --dist loadfile --no-loadscope-reorder
# A few files hold most of the slow ones: a process that is done takes tests over from the others.
SHARED = -n $(JOBS) --dist worksteal

# Each process of a test run reads every module, and thousands of programs do: compiling once is enough.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-fast test-dev test-engines test-faults test-ray test-mcp test-properties test-slow test-long check fmt docs snapshots screenshot smoke
.PHONY: coverage mutants properties clean need-python soak
.PHONY: bench bench-abort bench-aborts bench-chats bench-chat-search bench-chat-store bench-copying bench-documents
.PHONY: bench-download bench-echo bench-exits
.PHONY: bench-hostile bench-idle bench-import bench-kill bench-kill-download bench-kill-pull bench-long-chat
.PHONY: bench-models bench-open bench-parsers bench-peers bench-pictures bench-registry bench-search bench-similar
.PHONY: bench-engine bench-mcp-start bench-request bench-servers bench-startup bench-stream bench-tools bench-wire

help:  ## Explain these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

need-python:
	@test -n "$(PYTHON)" || { echo "ollm: Python 3.11 or later was not found; install it, then run make again." >&2; exit 1; }

run: need-python  ## Install what is missing, fetch the starter model, open the app (ARGS="..." are passed on)
	@$(BOOTSTRAP) run
	@$(BIN)/ollm $(ARGS)

test: need-python  ## Install what the tests need and run them in six processes (ARGS="..." are passed on)
	@$(BOOTSTRAP) test
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m "not slow and not structure" $(ARGS)

test-fast: need-python  ## The tests without the real engine and the pseudo-terminal
	@$(BOOTSTRAP) test
	$(BIN)/python -m pytest -q $(SIDE_BY_SIDE) -m "not pty and not engine and not slow" $(ARGS)

test-dev: need-python  ## The runtime's tests in Python's development mode: nothing unawaited, unclosed or unheard
	@$(BOOTSTRAP) test
	$(BIN)/python -X dev -W error::ResourceWarning -m pytest -q tests/chat tests/tools tests/tokens tests/store tests/runtime tests/providers $(ARGS)

test-slow: need-python  ## The rest of the long series, and minutes of real terminal sessions
	@$(BOOTSTRAP) test
	$(BIN)/python -m pytest -q $(SHARED) -m "slow and not long" --hypothesis-profile=full $(ARGS)

test-long: need-python  ## What takes minutes for one test: every byte, every size, every fault
	@$(BOOTSTRAP) test
	$(BIN)/python -m pytest -q $(SHARED) -m long --hypothesis-profile=full $(ARGS)

test-properties: need-python  ## The properties with all their examples: the usual tests take 40 of each 100
	@$(BOOTSTRAP) test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "hypothesis and not slow" --hypothesis-profile=full $(ARGS)

test-faults: need-python  ## Answers damaged, cut at every byte, stalled and without end, in full size, in about 6 minutes
	@$(BOOTSTRAP) test
	$(BIN)/python -m pytest -q -m "slow or not slow" tests/contract tests/providers/test_mutated_streams.py tests/providers/test_fault_proxy.py tests/providers/test_floods.py tests/providers/test_limits.py $(ARGS)

test-ray: need-python  ## Replicas under Ray Serve that are killed and added (fetches Ray, 90 MB, into .venv-ray)
	@$(BOOTSTRAP) test
	@OLLM_VENV=.venv-ray $(BOOTSTRAP) ray
	$(BIN)/python -m pytest -q -m ray tests/e2e/test_ray.py $(ARGS)

test-mcp: need-python  ## Real MCP servers, and the conformance tests of the protocol (fetches 90 MB; those of npm where npm is)
	@$(BOOTSTRAP) test
	@OLLM_VENV=.venv-mcp $(BOOTSTRAP) mcp-servers
	@OLLM_VENV=.venv-mcp-sqlite $(BOOTSTRAP) mcp-sqlite
	@$(BIN)/python -m tests.support.real_mcp .mcp-servers
	$(BIN)/python -m pytest -q -rs -m real_mcp tests/mcp/test_real_servers.py $(ARGS)

test-engines: need-python  ## Hearing, speech, similar messages and, from Python 3.12, drawing by real engines (fetches 155 MB), and 100 stops of each
	@$(BOOTSTRAP) engines
	$(BIN)/python -m tests.support.sound_weights .sound-models
	$(BIN)/python -m tests.support.embedding_weights .sound-models
	SOUND_MODELS=$(CURDIR)/.sound-models $(BIN)/python -m pytest -q -m "slow or not slow" tests/engines tests/providers/embedded/test_round_trip.py tests/providers/embedded/test_real_drawing.py tests/providers/embedded/test_engine_contract.py tests/runtime/test_similar_engine.py $(ARGS)

bench-exits: need-python  ## Every way to end a streaming program, and what it leaves behind
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.exits

check: need-python  ## Format, lint, types, imports, the structure of the code, the guides: all that a change has to pass beside the tests
	@$(BOOTSTRAP) check
	@$(BOOTSTRAP) test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "structure and not slow" tests/architecture tests/docs $(ARGS)

fmt: need-python  ## Format and sort what can be done by machine
	@$(BOOTSTRAP) check
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: need-python  ## Write the reference pages anew from the code
	@$(BOOTSTRAP) test
	$(BIN)/python -m scripts.write_docs

snapshots: need-python  ## Take the reviewed pictures of the screens anew
	@$(BOOTSTRAP) test
	$(BIN)/python -m pytest -q tests/tui --snapshot-update

screenshot: need-python  ## Draw the pictures of the README from the app itself
	@$(BOOTSTRAP) test
	$(BIN)/python -m scripts.screenshot docs/images

smoke: need-python  ## Drive `make run` on a pseudo-terminal as a newcomer would
	@$(BOOTSTRAP) test
	$(BIN)/python -m scripts.smoke

bench: need-python  ## All figures of docs/performance.md in about 28 minutes (ARGS="--help": choices)
	@$(BOOTSTRAP) test
	@missed=0; $(BIN)/python -m benchmarks.terminal $(ARGS) || missed=$$?; \
	test -n "$(ARGS)" || $(BIN)/python -m benchmarks.wire || missed=1; \
	test -n "$(ARGS)" || $(BIN)/python -m benchmarks.request || { status=$$?; test $$missed = 1 || missed=$$status; }; \
	exit $$missed

bench-peers: need-python  ## Fetch the programs that `make bench` compares with, where they install
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.terminal.peers.install $(ARGS)

bench-stream: need-python  ## CPU, lag and growth of streamed answers against bare Textual and cat
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.terminal stream words $(ARGS)

bench-echo: need-python  ## Keys and the longest stall while 1,000 tokens a second stream; scrolling
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.terminal echo scroll $(ARGS)

bench-open: need-python  ## Opening saved chats of 200 and of 5,000 messages
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.terminal open $(ARGS)

bench-documents: need-python  ## Stalls and keys while documents come that are known to stall
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.terminal documents $(ARGS)

bench-wire: need-python  ## CPU of 100,000 streamed chunks against the official clients
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.wire $(ARGS)

bench-request: need-python  ## What a question costs beside its bytes, in chats of 2, 200 and 2,000 messages
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.request $(ARGS)

bench-engine: need-python  ## The built-in engine beside llama.cpp's own server (ARGS="MODEL.gguf --server PATH")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.engine $(ARGS)

bench-servers: need-python  ## A running server beside curl (ARGS="KIND URL MODEL", such as "ollama http://127.0.0.1:11434 qwen3:4b")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.servers $(ARGS)

bench-startup: need-python  ## Time to a usable prompt, against a minimal Textual app
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.startup

bench-mcp-start: need-python  ## The same with ten MCP servers, one of which never answers, against none
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.mcp_start $(ARGS)

bench-abort: need-python  ## From the Esc byte to the disconnect, 200 times
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.abort

bench-kill: need-python  ## Kill programs that save, index, import, export, delete... 200 times (ARGS="TIMES SEED MOMENT...")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.kill_store $(ARGS)

bench-kill-pull: need-python  ## Kill a program that pulls a model in parts 200 times, and count what is reused
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.kill_pull $(ARGS)

bench-idle: need-python  ## What the idle program uses, writes and draws in a minute (ARGS="1800" for half an hour)
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.idle $(ARGS)

bench-kill-download: need-python  ## Kill a program that downloads 200 times, and count what is sent again
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.kill_download $(ARGS)

bench-long-chat: need-python  ## Open a chat of 20 MB, ask in it, save an answer of 10 MB: how long the event loop stands still
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.long_chat $(ARGS)

bench-aborts: need-python  ## Abort prompts at random moments 500 times (ARGS="TIMES SEED"), and count what is left
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.aborts $(ARGS)

bench-chat-search: need-python  ## Search 100,000 messages as one types, make the index, save meanwhile
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.chat_search $(ARGS)

bench-chat-store: need-python  ## Start, list, search and save with 10,000 chats and 1,000,000 messages (3 GB; ARGS="FOLDER" keeps them)
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.chat_store $(ARGS)

bench-import: need-python  ## Import an export of ChatGPT of 100 MB: memory, progress, stopped half-way (ARGS="MB")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.import_chats $(ARGS)

bench-similar: need-python  ## Find paraphrases among 100,000 messages: ARGS=MODEL.gguf, an embedding model
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.similar $(ARGS)

bench-search: need-python  ## Search a chat of 5,000 messages and 20 MB: time to all matches, longest stall
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.search $(ARGS)

bench-chats: need-python  ## Open and filter 10,000 saved chats against a bare DataTable of the same rows (ARGS="CHATS ROUNDS")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.chats $(ARGS)

bench-models: need-python  ## Open and filter 2,000 models against a bare DataTable of the same rows (ARGS="MODELS ROUNDS")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.models $(ARGS)

bench-parsers: need-python  ## Time that hostile texts cost the parsers: ten times the text, at most twelve times the time
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.parsers

bench-hostile: need-python  ## Documents that cost far more than they look like: stalls, keys, Esc (ARGS="NAME")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.hostile_documents $(ARGS)

bench-copying: need-python  ## The longest stall while a chat of 20 MB is selected and copied
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.copying $(ARGS)

bench-download: need-python  ## A checked download against plain httpx and a file (ARGS="MEGABYTES ROUNDS")
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.download $(ARGS)

bench-tools: need-python  ## Four tools of one turn against one tool
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.tools

bench-registry: need-python  ## What a key press costs in a search of 4,000 models, and the longest stall before it
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.registry $(ARGS)

bench-pictures: need-python  ## Longest pause of the screen while 12-megapixel pictures are decoded
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.pictures

soak: need-python  ## 5,000 turns at full speed (ARGS="TURNS SEED"): what grows, and whether keys get slower
	@$(BOOTSTRAP) test
	$(BIN)/python -m benchmarks.soak $(ARGS)

coverage: need-python  ## What the tests of the runtime core reach of it: at least 95 % of lines, 90 % of branches
	@$(BOOTSTRAP) test
	$(BIN)/python -m scripts.runtime_coverage

mutants: need-python  ## Plant 20 bugs in the runtime core (ARGS="SEED"), and see which its tests catch
	@$(BOOTSTRAP) mutants
	$(BIN)/python -m scripts.mutants $(ARGS)

properties: need-python  ## List the numbered properties with the tests that hold them
	@$(BOOTSTRAP) test
	$(BIN)/python -m scripts.properties

clean:  ## Remove what these targets made, except models and settings
	rm -rf .venv .venv-ray .venv-mcp .venv-mcp-sqlite .mcp-servers build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
