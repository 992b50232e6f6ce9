"""Ready-made paths for campaigns, by name: `PROFILES`."""

from vmtrace.lab.profiles.profile import Profile
from vmtrace.lab.profiles.ready import READY

PROFILES: dict[str, Profile] = {profile.name: profile for profile in READY}

__all__ = ["PROFILES", "Profile"]
