#!/usr/bin/env bash
# Makes the networks that dioptre ships from nothing, by their recipes (src/dioptre/pipeline/recipes.py):
# bash lab/recipes/train.sh DIR [name ...]. What was stopped goes on. docs/log.md has what came of it.
set -euo pipefail
dir=$1; shift
[ $# -gt 0 ] || set -- dioptre-single-dp dioptre-single-green dioptre-any-dp dioptre-any-green l2a-single-dp \
    l2a-single-green l2a-two-step-dp l2a-two-step-green l2a-stack-green l2a-stack-dp learned-depth
for name in "$@"; do dioptre train --recipe "$name" "$dir"; done
