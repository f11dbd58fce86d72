# SPDX-License-Identifier: Apache-2.0
"""All kinds of recorded jobs, by name."""

import meshes  # noqa: F401
import one_group  # noqa: F401
import pipelines  # noqa: F401
from job_kind import KINDS  # noqa: F401
