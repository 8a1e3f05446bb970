"""What a user may set: options with bounds and help, as JSON, and numbers as text."""

from attnlab.configuration.number_text import read_numbers, show_matrix, show_measured, show_numbers
from attnlab.configuration.options import (
    Option,
    OptionError,
    Options,
    check_option,
    check_options,
    default_of,
    label_of,
    option,
    options_of,
    quoted,
)
from attnlab.configuration.records import from_record, to_record

__all__ = [
    "Option",
    "OptionError",
    "Options",
    "check_option",
    "check_options",
    "default_of",
    "from_record",
    "label_of",
    "option",
    "options_of",
    "quoted",
    "read_numbers",
    "show_matrix",
    "show_measured",
    "show_numbers",
    "to_record",
]
