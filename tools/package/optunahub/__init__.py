from npzoo.optuna import Sampler

__all__ = ["Sampler"]
