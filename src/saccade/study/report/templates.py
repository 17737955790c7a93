"""The files that pages are made of, which stand beside this one."""

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

__all__ = ["template", "text_of"]


def template(name: str) -> Template:
    """Return a template in which every value is escaped, and one that is missing is an error."""
    environment = Environment(
        loader=PackageLoader("saccade.study", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def text_of(name: str) -> str:
    """Return a style sheet or a script."""
    return files("saccade.study.report").joinpath(name).read_text(encoding="utf-8")
