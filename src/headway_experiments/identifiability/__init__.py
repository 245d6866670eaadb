"""The number of minimal circuits of small models, under every ablation."""
