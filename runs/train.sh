#!/usr/bin/env bash
# Trains the networks that dioptre ships, on simulated scenes, and exports them: bash runs/train.sh DIR [name ...]
# On two cores a training takes a quarter to three quarters of an hour; one that was stopped goes on. docs/log.md has what came of it.
set -euo pipefail
dir=$1; shift
all=(dioptre-single-dp dioptre-single-green dioptre-any-dp)
# l2a-single-dp and l2a-single-green are prepared below and not shipped yet

simulate() { # name, flags
    local name=$1; shift
    [ -f "$dir/$name/manifest.json" ] || dioptre simulate "$dir/$name" --textures skimage "$@"
}

simulate patches --patches 10000 --seed 100
simulate more --patches 14000 --seed 101 --split train
simulate dark --patches 1600 --seed 102 --split train --light dark

more=(--also "$dir/more" --also "$dir/dark")
common=(--width 0.5 --batch 64 --beta1 0.9 --schedule cosine --learning-rate 3e-3 --average 0.998
        --target optics --coefficient 0.3)

train() { # name, store, flags
    local name=$1 store=$2; shift 2
    [ -f "$dir/$name/manifest.json" ] || dioptre train "$dir/$store" "$dir/$name" "${common[@]}" "$@"
    dioptre export "$dir/$name" "$dir/weights/$name.onnx" --half
}

for name in "${@:-${all[@]}}"; do
    case $name in
        dioptre-single-dp)
            train "$name" patches "${more[@]}" --problem D1 --network move --steps 10000 --quarters 0.6 --flips rows ;;
        dioptre-single-green)
            train "$name" patches "${more[@]}" --problem I1 --network move --steps 5000 --quarters 0.5 --flips both \
                --start-from "$dir/dioptre-single-dp" ;;
        l2a-single-dp)
            train "$name" patches "${more[@]}" --problem D1 --steps 8000 --quarters 0.6 --flips rows \
                --shared-stem --moves 1 ;;
        l2a-single-green)
            train "$name" patches "${more[@]}" --problem I1 --steps 6000 --quarters 0.6 --flips both \
                --shared-stem --moves 1 --start-from "$dir/l2a-single-dp" ;;
        dioptre-any-dp)
            train "$name" patches --problem D1 --network looks --steps 6000 --learning-rate 1e-3 \
                --frozen --start-from "$dir/dioptre-single-dp" ;;
        *) echo "no such network: $name" >&2; exit 2 ;;
    esac
done
