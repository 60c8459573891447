#!/usr/bin/env bash
# The paper's evaluation on simulated data: every test set by name, predictions, and one report.
#
#   lab/paper.sh DIR
#
# Each test set is one simulate command with a seed, of the split test, whose surfaces no network has learned
# from. What is there already is not made again, and what was stopped goes on. DIR/report/index.html has
# everything; `python -m lab.scale` tells how long a patch takes.
#
#   PATCHES=1024     patches of the centre phone's test set, 16 of a scene
#   OTHERS=512       patches of each of the other sets
#   STARTS=49        positions from which a method with few looks begins
#   SEED=900         of all sets: the left phone sees the centre's scenes, and so does the dark
#   REGISTERED=      a network for registered stacks (dioptre train --recipe l2a-registered-green OUT), which
#                    sees 72 x 72 pixels
#   WORKERS=         such as "--workers 2", or "--cluster tcp://host:8786"
#   DIOPTRE=dioptre  the command
set -euo pipefail
[ $# = 1 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 2; }
out=$1
PATCHES=${PATCHES:-1024} OTHERS=${OTHERS:-512} STARTS=${STARTS:-49} SEED=${SEED:-900}
REGISTERED=${REGISTERED:-} WORKERS=${WORKERS:-} DIOPTRE=${DIOPTRE:-dioptre}
mkdir -p "$out"

# make_folder FOLDER COMMAND...: runs a command that writes FOLDER, unless that is finished.
make_folder() {
  local folder=$1
  shift
  [ -e "$folder/manifest.json" ] || { echo "$*" >&2; "$@"; }
}
# Words of DIOPTRE and WORKERS are words of the command.
# shellcheck disable=SC2086
simulated() {
  local name=$1 patches=$2
  shift 2
  make_folder "$out/$name" $DIOPTRE simulate "$out/$name" --patches "$patches" --seed "$SEED" --split test "$@" $WORKERS
}
# shellcheck disable=SC2086
registered() {
  make_folder "$out/registered-$1" $DIOPTRE register "$out/centre-some" "$out/registered-$1" --how "$1" --size 72 $WORKERS
}
# shellcheck disable=SC2086
predicted() {
  make_folder "$out/predictions-$1" $DIOPTRE predict "$out/$1" "$out/predictions-$1" --methods "$2" --starts "$STARTS" $WORKERS
}

one_look=zncc-disparity,ssd-disparity,learned-depth,l2a-single-dp,dioptre-single-dp
one_look=$one_look,dioptre-zncc-disparity,dioptre-ssd-disparity,dioptre-learned-depth
contrast=local-ratio-2,local-log-ratio-2,local-norm-dist-sq-2,local-ratio-4,local-log-ratio-4,local-norm-dist-sq-4
contrast=$contrast,wavelet-sum-3,wavelet-log-ratio-3,dioptre-diagonal-laplacian,dioptre-block-dct-energy-ratio

simulated centre "$PATCHES"
simulated centre-some "$OTHERS" # of the same scenes, to be registered
simulated left "$OTHERS" --device left
simulated light-and-dark "$OTHERS" --light both
registered calibrated
registered searched

predicted centre all
predicted left $one_look,zncc-disparity@left,ssd-disparity@left,learned-depth@left
predicted light-and-dark $one_look
for how in calibrated searched; do
  predicted "registered-$how" "$contrast${REGISTERED:+,$REGISTERED}"
done

sets=(centre left light-and-dark registered-calibrated registered-searched)
# shellcheck disable=SC2086
$DIOPTRE report "${sets[@]/#/$out/predictions-}" "$out/report"
