"""What the user asks for: settings, and where they come from."""

from xlalint.config.loading import load_settings, settings_from
from xlalint.config.settings import ConfigError, Settings

__all__ = ["ConfigError", "Settings", "load_settings", "settings_from"]
