"""What libraries calculate, kept as files that the tests compare with `attn` where no library is.

    python -m benchmarks.libraries [NAME...] [--check]

Most modules here have `RECORDED`: the names of files in `tests/data/recorded`, each with a function
of what stands in it, a line for each problem with what a module of PyTorch, transformers or ONNX
gives. `--check` writes nothing, and says how far the files are from what the libraries give now;
they are the extra `peers`. `conventions`, `dumps` and `rope_scaling` write other files, by
themselves.
"""
