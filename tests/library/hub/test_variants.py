"""Files of a repository as what can be chosen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.library.hub.repo import HubFile, Variant
from ollm_tui.library.hub.variants import is_usable_path, matching, variants_of


def files(*paths: str) -> list[HubFile]:
    return [HubFile(path=path, size=10 + place) for place, path in enumerate(paths)]


def listed(*paths: str, speech: bool = False) -> list[tuple[str, str | None, str, int]]:
    found = variants_of(files(*paths), speech=speech)
    return [(it.name, it.quantization, it.kind, len(it.files)) for it in found]


def problems(*paths: str) -> dict[str, str | None]:
    return {it.files[0].path: it.problem for it in variants_of(files(*paths))}


def test_models_come_first_and_the_best_of_them_before_the_others() -> None:
    assert listed(
        "README.md",
        "config.json",
        "m-Q4_K_M.gguf",
        "mmproj-F16.gguf",
        "m-BF16.gguf",
        "m-imatrix.gguf",
        "m-IQ2_M.gguf",
        "m.gguf",
        "model.safetensors",
    ) == [
        ("m-BF16", "BF16", "model", 1),
        ("m-Q4_K_M", "Q4_K_M", "model", 1),
        ("m-IQ2_M", "IQ2_M", "model", 1),
        ("m", None, "model", 1),
        ("mmproj-F16", "F16", "projector", 1),
        ("model", None, "other", 1),
        ("m-imatrix", None, "other", 1),
    ]


def test_parts_are_one_model_in_their_order() -> None:
    found = variants_of(files(*(f"a/b-Q8_0-0000{n}-of-00003.gguf" for n in (3, 1, 2))))
    (it,) = found
    assert (it.name, it.quantization, it.problem, it.size) == ("b-Q8_0", "Q8_0", None, 33)
    assert [file.path[8:14] for file in it.files] == ["-00001", "-00002", "-00003"]


def test_a_size_is_unknown_while_that_of_one_part_is() -> None:
    parts = [HubFile(path="a-00001-of-00002.gguf"), HubFile(path="a-00002-of-00002.gguf", size=1)]
    (it,) = variants_of(parts)
    assert (it.size, it.problem) == (None, None)


def test_the_folder_tells_the_quantization_where_the_name_does_not() -> None:
    assert listed("Q4_K_M/m-00001-of-00001.gguf", "UD-IQ1_S/m.gguf") == [
        ("m", "Q4_K_M", "model", 1),
        ("m", "UD-IQ1_S", "model", 1),
    ]


def test_the_same_name_in_two_folders_is_two_models() -> None:
    assert problems("a/m-00001-of-00002.gguf", "b/m-00002-of-00002.gguf") == {
        "a/m-00001-of-00002.gguf": "part 2 of 2 is missing",
        "b/m-00002-of-00002.gguf": "part 1 of 2 is missing",
    }


FIRST = "m-00001-of-00003.gguf"


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ((FIRST,) * 4, "part 2 of 3 is missing"),
        ((FIRST, "m-00002-of-00003.gguf"), "part 3 of 3 is missing"),
        ((FIRST, "m-00003-of-00003.gguf"), "part 2 of 3 is missing"),
        (("m-00001-of-00001.gguf",) * 2, "part 1 of 1 is listed more than once"),
        (("m-00001-of-00000.gguf",), "its parts do not fit together"),
        (("m-00000-of-00001.gguf", "m-00001-of-00001.gguf"), "its parts do not fit together"),
        (("m.gguf", "m.gguf"), "it is listed more than once"),
        (("../m.gguf",), "its name is none that a file can have here"),
        (("/m.gguf",), "its name is none that a file can have here"),
        (("a\\m.gguf",), "its name is none that a file can have here"),
        (("a//m.gguf",), "its name is none that a file can have here"),
        (("m\x1b[2J.gguf",), "its name is none that a file can have here"),
        (("m\u202egguf.gguf",), "its name is none that a file can have here"),
        (("C:m.gguf",), "its name is none that a file can have here"),
        ((f"{'é' * 130}.gguf",), "its name is none that a file can have here"),
        (("m-00099-of-99999.gguf",), "part 1 of 99999 is missing"),
    ],
)
def test_what_cannot_be_fetched_says_why(paths: tuple[str, ...], problem: str) -> None:
    assert set(problems(*paths).values()) == {problem}


def test_sets_that_disagree_on_their_count_are_distinguished() -> None:
    whole = [f"m-0000{n}-of-00002.gguf" for n in (1, 2)]
    assert problems(*whole, "m-00003-of-00003.gguf") == {
        whole[0]: None,
        "m-00003-of-00003.gguf": "part 1 of 3 is missing",
    }
    other = [f"m-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    reported = set(problems(*whole, *other).values())
    assert reported == {"its parts disagree on how many there are"}


@pytest.mark.parametrize(
    ("path", "speech", "kind"),
    [
        ("ggml-base.bin", False, "whisper"),
        ("ggml-large-v3-turbo-q5_0.bin", False, "whisper"),
        ("for-tests-ggml-tiny.en.bin", False, "whisper"),
        ("ggml-model.bin", True, "whisper"),
        ("whisper-de/ggml-model.bin", False, "whisper"),
        ("ggml-model-q4_0.bin", False, "other"),
        ("pytorch_model.bin", True, "other"),
        ("model-00001-of-00002.safetensors", False, "other"),
        ("x.mmproj-Q8_0.gguf", False, "projector"),
        ("MMPROJ-model-f16.gguf", False, "projector"),
        ("commproject.gguf", False, "model"),
        ("m-imatrix-Q4_K_M.gguf", False, "model"),
        ("imatrix_unsloth.gguf", False, "other"),
    ],
)
def test_kinds(path: str, speech: bool, kind: str) -> None:
    assert [it.kind for it in variants_of(files(path), speech=speech)] == [kind]


def test_a_voice_comes_with_its_description() -> None:
    names = ("de/eva.onnx", "de/eva.onnx.json", "en/joe.onnx", "en/joe.onnx.json")
    others = ("net.onnx", "net.json", "en/lone.onnx.json")
    found = variants_of(files(*names, *others))
    assert [(it.kind, [file.path for file in it.files]) for it in found] == [
        ("voice", ["en/joe.onnx", "en/joe.onnx.json"]),
        ("voice", ["de/eva.onnx", "de/eva.onnx.json"]),
        ("other", ["net.onnx"]),
    ]
    (one,) = matching(found, path="de/eva.onnx")
    assert one.size == 10 + 11


def test_a_model_that_draws_comes_with_the_parts_of_its_repository() -> None:
    names = ("unet/flux-dev.safetensors", "vae/ae.safetensors", "te/clip_l.safetensors")
    others = ("te/t5xxl_fp8.safetensors", "te/t5xxl_fp16-a.safetensors", "my-lora.safetensors")
    found = variants_of(files(*names, *others, "flux-Q4_0.gguf"), drawing=True)
    kinds = {one.name: one.kind for one in found}
    assert kinds == {
        "flux-Q4_0": "model",
        "flux-dev": "drawing",
        "ae": "part",
        "clip_l": "part",
        "t5xxl_fp8": "part",
        "t5xxl_fp16-a": "part",
        "my-lora": "other",
    }
    (one,) = matching(found, path="unet/flux-dev.safetensors")
    assert {file.path for file in one.files} == {*names, "te/t5xxl_fp8.safetensors"}
    assert one.files[0].path == names[0]
    whole = variants_of(files("sd15.safetensors", "old.ckpt", "model.safetensors"), drawing=True)
    assert sorted(one.kind for one in whole) == ["drawing", "drawing", "other"]


def test_what_a_person_names_is_found() -> None:
    paths = ["m-Q8_0.gguf", *(f"UD/m-UD-Q4_K_XL-0000{n}-of-00002.gguf" for n in (1, 2))]
    found = variants_of(files(*paths))

    def names(**asked: str) -> list[str]:
        return [it.name for it in matching(found, **asked)]

    assert names(quantization="q8_0") == ["m-Q8_0"]
    assert names(quantization="Q4_K_XL") == names(quantization="ud-q4_k_xl") == ["m-UD-Q4_K_XL"]
    assert names(path=paths[2]) == ["m-UD-Q4_K_XL"]
    assert names(quantization="Q2_K") == names(path="none.gguf") == []
    assert len(names()) == 2


PATHS = st.lists(
    st.one_of(
        st.text(max_size=20).map("{}.gguf".format),
        st.from_regex(r"([ab]/)?m-0000[0-3]-of-0000[0-3]\.(gguf|GGUF|bin)", fullmatch=True),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=200)
@given(PATHS)
def test_every_file_with_a_name_is_in_one_variant_and_only_whole_ones_are_sound(
    paths: list[str],
) -> None:
    found = variants_of(files(*paths))
    chosen = sorted(file.path for it in found for file in it.files)
    assert chosen == sorted(path for path in paths if path.rpartition("/")[2] != ".gguf")
    assert all(is_sound(it) for it in found if it.problem is None)


def is_sound(it: Variant) -> bool:
    paths = [file.path for file in it.files]
    return len(set(paths)) == len(paths) > 0 and all(map(is_usable_path, paths))
