#!/usr/bin/env bash
# Trains the networks that dioptre ships, on simulated scenes, and exports them: bash runs/train.sh DIR [name ...]
# On two cores a training takes a quarter to three quarters of an hour; one that was stopped goes on. docs/log.md has
# what came of it, and where the shipped files came about otherwise.
set -euo pipefail
dir=$1; shift
all=(dioptre-single-dp dioptre-single-green dioptre-any-dp l2a-single-dp)
# l2a-single-green is prepared below and not shipped yet

simulate() { # name, flags
    local name=$1; shift
    [ -f "$dir/$name/manifest.json" ] || dioptre simulate "$dir/$name" --textures skimage "$@"
}

simulate patches --patches 10000 --seed 100
simulate more --patches 14000 --seed 101 --split train
simulate dark --patches 6000 --seed 104 --split train --light dark

more=(--also "$dir/more" --also "$dir/dark")
common=(--width 0.5 --batch 64 --beta1 0.9 --schedule cosine --average 0.998)
optics=(--target optics --coefficient 0.3)

train() { # name, flags
    local name=$1; shift
    [ -f "$dir/$name/manifest.json" ] || dioptre train "$dir/patches" "$dir/$name" "${common[@]}" "$@"
}

for name in "${@:-${all[@]}}"; do
    case $name in
        dioptre-single-dp)
            train begun-dp "${more[@]}" "${optics[@]}" --problem D1 --network move --learning-rate 3e-3 --steps 10000 \
                --quarters 0.6 --flips rows
            train "$name" "${more[@]}" "${optics[@]}" --problem D1 --network move --learning-rate 1.5e-3 --steps 2500 \
                --flips rows --start-from "$dir/begun-dp" ;;
        dioptre-single-green)
            train begun-green "${more[@]}" "${optics[@]}" --problem I1 --network move --learning-rate 3e-3 --steps 5000 \
                --quarters 0.5 --flips both --start-from "$dir/begun-dp"
            train half-green "${more[@]}" "${optics[@]}" --problem I1 --network move --learning-rate 2e-3 --steps 3500 \
                --flips both --start-from "$dir/begun-green"
            train "$name" "${more[@]}" "${optics[@]}" --problem I1 --network move --learning-rate 2e-3 --steps 4000 \
                --quarters 0.25 --flips all --start-from "$dir/half-green" ;;
        dioptre-any-dp)
            train "$name" "${optics[@]}" --problem D1 --network looks --learning-rate 1e-3 --steps 6000 --frozen \
                --start-from "$dir/dioptre-single-dp" ;;
        l2a-single-dp)
            train "$name" "${more[@]}" --problem D1 --learning-rate 3e-3 --steps 6000 --quarters 0.55 --flips rows \
                --shared-stem --moves 1 ;;
        l2a-single-green)
            train "$name" "${more[@]}" --problem I1 --learning-rate 3e-3 --steps 4000 --quarters 0.5 --flips all \
                --shared-stem --moves 1 --start-from "$dir/l2a-single-dp" ;;
        *) echo "no such network: $name" >&2; exit 2 ;;
    esac
    dioptre export "$dir/$name" "$dir/weights/$name.onnx" --half
done
