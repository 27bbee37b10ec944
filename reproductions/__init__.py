"""The papers' experiments, the paper's figure beside ours: ``make reproduce``."""
