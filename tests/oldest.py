"""Print the lowest versions that pyproject.toml allows, as requirements for pip: `make test-oldest` installs them."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def declared(*extras: str) -> list[str]:
    """Return the requirements of the package and of some extras, those of extras that they name included."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    requirements = list(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            inner = re.fullmatch(r"saccade\[(.+)\]", requirement)
            requirements += declared(*re.split(r",\s*", inner[1])) if inner else [requirement]
    return list(dict.fromkeys(requirements))


def lowest(requirement: str) -> str:
    """Return a requirement of exactly its lower bound.

    >>> lowest("numpy>=1.25.0")
    'numpy==1.25.0'
    """
    bounded = re.fullmatch(r"([A-Za-z0-9._-]+(?:\[[a-z,]+\])?)>=([0-9.]+)", requirement)
    if bounded is None:
        raise ValueError(f"{requirement!r} in pyproject.toml has no plain lower bound. Write it as name>=version.")
    return f"{bounded[1]}=={bounded[2]}"


if __name__ == "__main__":
    print("\n".join(lowest(requirement) for requirement in declared("test")))
