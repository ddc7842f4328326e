"""How the asset of the default MoE model is made, from sampling its calibration text to packing. See
docs/MOE.md.
"""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``moe-recipe``; its parts (and torch) are imported when it runs."""
    from core.engine.moe_recipe.command import main as run

    return run(argv)
