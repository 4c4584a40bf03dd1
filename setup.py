"""What pyproject.toml cannot say beside a search for packages: the samples are installed, too."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["attncli*"]), "attncli.sample_inputs"],
    package_dir={"attncli.sample_inputs": "sample_inputs"},
)
