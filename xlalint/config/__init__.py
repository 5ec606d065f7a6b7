"""Read settings from configuration files and the command line."""

from xlalint.config.loading import load_settings, settings_from
from xlalint.config.settings import ConfigError, Settings
from xlalint.config.surroundings import ProgramAround, ProgramSurvey, survey_program
from xlalint.config.tree import Configuration, Survey, load_configuration

__all__ = [
    "ConfigError",
    "Configuration",
    "ProgramAround",
    "ProgramSurvey",
    "Settings",
    "Survey",
    "load_configuration",
    "load_settings",
    "settings_from",
    "survey_program",
]
