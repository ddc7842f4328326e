"""Training on a learner's own copy of weights: bounded, queued, and gone when it is over."""
