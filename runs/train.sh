#!/usr/bin/env bash
# Trains the networks that dioptre ships, on simulated scenes, into runs of DIR: bash runs/train.sh DIR [name ...]
# On two cores a run takes 20 to 40 minutes; one that was stopped goes on. docs/log.md has what came of them.
set -euo pipefail
dir=$1; shift
store=$dir/patches

[ -f "$store/manifest.json" ] || dioptre simulate "$store" --patches 10000 --seed 100 --textures skimage

common=(--width 0.5 --batch 64 --beta1 0.9 --schedule cosine --learning-rate 3e-3 --average 0.998
        --target optics --coefficient 0.3 --validate-every 500)

train() { # name, flags
    local name=$1; shift
    [ -f "$dir/$name/manifest.json" ] || dioptre train "$store" "$dir/$name" "${common[@]}" "$@"
}

for name in "${@:-dioptre-single-dp}"; do
    case $name in
        dioptre-single-dp) train "$name" --problem D1 --network move --steps 5000 --flips rows ;;
        dioptre-single-green) train "$name" --problem I1 --network move --steps 5000 --flips both ;;
        l2a-single-dp) train "$name" --problem D1 --steps 5000 --flips rows --shared-stem --moves 1 ;;
        l2a-single-green) train "$name" --problem I1 --steps 5000 --flips both --shared-stem --moves 1 ;;
        *) echo "no such network: $name" >&2; exit 2 ;;
    esac
done
