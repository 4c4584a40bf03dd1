"""What libraries calculate, kept as files that the tests compare with `attn` where no library is.

    python -m benchmarks.libraries [NAME...] [--check]

Most modules here have `RECORDED`: files of `tests/data`, each with a function that returns what
stands in it, as modules of PyTorch, transformers or ONNX give it. `--check` writes nothing, and
says how far the files are from what the libraries give now; they are the extra `peers`. `dumps`
writes its files by itself.
"""
