"""A named experiment, with what it shows."""

import dataclasses

from attnlab.training.experiment import Experiment


@dataclasses.dataclass(frozen=True)
class Preset:
    """An experiment with its name in menus and one line on what it shows.

    Attributes:
        group: Presets of a group follow one another in `PRESETS`.
        title: Its plain name.
        description: What it shows.
        experiment: The experiment.
        of_post: Whether the page Known results has its results, those of the blog post.
        short: Its name beside others of the same process; by default, what follows the process in
            the title.
    """

    group: str
    title: str
    description: str
    experiment: Experiment
    of_post: bool = False
    short: str = ""

    def __post_init__(self):
        if not self.short:
            object.__setattr__(self, "short", self.title.rpartition(": ")[2])

    @property
    def label(self) -> str:
        """Group and title, which no other preset has."""
        return f"{self.group} · {self.title}"

    def matches(self, settings: object) -> bool:
        """Return whether the settings are the preset's experiment, with any seed."""
        return isinstance(settings, Experiment) and self.experiment == dataclasses.replace(
            settings, seed=self.experiment.seed
        )
