"""Work that is spread over the processes of a Dask cluster."""
