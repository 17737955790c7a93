"""Public names for Dask; their code lives in ``saccade.cluster``."""

__all__: list[str] = []
