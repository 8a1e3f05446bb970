"""What the ± beside a figure stands for, in the same words on every page."""

# A standard error over the test set says nothing of another start or other training data.
OVER_TEST_SEQUENCES = "± one standard error over the test sequences only"
OF_OTHER_SEEDS = "trainings from other seeds can differ by more"
