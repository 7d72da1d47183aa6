"""The local container engine. The only importer of docker."""
