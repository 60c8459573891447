#!/usr/bin/env bash
# Trains the networks that dioptre ships, on simulated scenes, and exports them: bash runs/train.sh DIR [name ...]
# On two cores a training takes a quarter to three quarters of an hour; one that was stopped goes on. docs/log.md has
# what came of it, and where the shipped files came about otherwise.
set -euo pipefail
dir=$1; shift
all=(dioptre-single-dp dioptre-single-green dioptre-any-dp dioptre-any-green l2a-single-dp l2a-single-green
    l2a-two-step-dp l2a-two-step-green l2a-stack-green l2a-stack-dp) # later ones begin with earlier ones

simulate() { # name, flags
    local name=$1; shift
    [ -f "$dir/$name/manifest.json" ] || dioptre simulate "$dir/$name" "$@"
}

simulate patches --patches 10000 --seed 100 --textures skimage
simulate more --patches 14000 --seed 101 --split train --textures skimage
simulate dark --patches 6000 --seed 104 --split train --light dark --textures skimage
simulate plain --patches 7000 --seed 105 --split train

common=(--beta1 0.9 --schedule cosine --average 0.998) # of a flag that comes twice, the last one counts
more=(--also "$dir/more" --also "$dir/dark")
plain=(--also "$dir/plain")
far=(--expects far) # of one green look, what is expected tells the side
optics=(--target optics --coefficient 0.3)
few=(--width 0.5 --batch 64)
paper=("${few[@]}" --moves 1)
move=("${few[@]}" "${more[@]}" "${optics[@]}" --network move)
looks=("${few[@]}" "${optics[@]}" --network looks --learning-rate 1e-3 --steps 6000 --frozen \
    --average 0.995 --validate-every 1000)
stacks=(--width 1 --batch 32 --target optics --shared-stem --validate-patches 512)

train() { # name, flags
    local name=$1; shift
    [ -f "$dir/$name/manifest.json" ] || dioptre train "$dir/patches" "$dir/$name" "${common[@]}" "$@"
}

for name in "${@:-${all[@]}}"; do
    case $name in
        dioptre-single-dp)
            train "$name" --problem D1 "${move[@]}" "${plain[@]}" --learning-rate 3e-3 --steps 10500 --quarters 0.6 \
                --flips rows ;;
        dioptre-single-green)
            train begun-green --problem I1 "${move[@]}" --learning-rate 3e-3 --steps 5000 --quarters 0.5 --flips both \
                --start-from "$dir/dioptre-single-dp"
            train half-green --problem I1 "${move[@]}" --learning-rate 2e-3 --steps 3500 --flips both \
                --start-from "$dir/begun-green"
            train turned-green --problem I1 "${move[@]}" --learning-rate 2e-3 --steps 4000 --quarters 0.25 --flips all \
                --start-from "$dir/half-green"
            train "$name" --problem I1 "${move[@]}" "${plain[@]}" --learning-rate 2e-3 --steps 2500 \
                --quarters 0.4 --flips all --start-from "$dir/turned-green" "${far[@]}" ;;
        dioptre-any-dp) train "$name" --problem D1 "${looks[@]}" --start-from "$dir/dioptre-single-dp" ;;
        dioptre-any-green)
            train "$name" --problem I1 "${looks[@]}" --start-from "$dir/dioptre-single-green" "${far[@]}" ;;
        l2a-single-dp)
            train "$name" --problem D1 "${paper[@]}" "${more[@]}" --learning-rate 3e-3 --steps 6000 --quarters 0.55 \
                --flips rows --shared-stem ;;
        l2a-single-green)
            green=(--problem I1 "${paper[@]}" "${more[@]}" --flips all)
            train begun-l2a-green "${green[@]}" --learning-rate 3e-3 --steps 4000 --quarters 0.5 --shared-stem \
                --start-from "$dir/l2a-single-dp"
            train half-l2a-green "${green[@]}" --learning-rate 1.5e-3 --steps 2500 --quarters 0.2 \
                --start-from "$dir/begun-l2a-green"
            train plain-l2a-green "${green[@]}" "${plain[@]}" --learning-rate 1.5e-3 --steps 2000 --quarters 0.3 \
                --start-from "$dir/half-l2a-green"
            train "$name" "${green[@]}" "${plain[@]}" --learning-rate 2e-3 --steps 4000 --quarters 0.5 \
                --start-from "$dir/plain-l2a-green" --teacher "$dir/dioptre-single-green" --taught 0.8 "${far[@]}" ;;
        l2a-two-step-dp)
            train begun-two-step --problem D1 "${paper[@]}" --learning-rate 1.5e-3 --steps 1600 --quarters 0.65 \
                --flips rows --after "$dir/l2a-single-dp" --start-from "$dir/l2a-single-dp"
            train "$name" --problem D1 "${paper[@]}" --learning-rate 1.5e-3 --steps 2400 --quarters 0.4 --flips rows \
                --after "$dir/l2a-single-dp" --start-from "$dir/begun-two-step" ;;
        l2a-two-step-green)
            two=(--problem I1 "${paper[@]}" --flips all)
            train begun-two-step-green "${two[@]}" --learning-rate 1.5e-3 --steps 3600 --quarters 0.7 \
                --after "$dir/begun-l2a-green" --start-from "$dir/begun-l2a-green"
            train "$name" "${two[@]}" --learning-rate 1e-3 --steps 600 --average 0.99 --validate-every 300 \
                --after "$dir/l2a-single-green" --start-from "$dir/begun-two-step-green" ;;
        l2a-stack-green)
            train "$name" --problem 'I*' "${stacks[@]}" --learning-rate 2e-3 --steps 4500 --quarters 0.75 --flips all ;;
        l2a-stack-dp)
            train begun-stack-dp --problem 'D*' "${stacks[@]}" --learning-rate 1.5e-3 --steps 1500 --quarters 0.75 \
                --flips rows --start-from "$dir/l2a-stack-green"
            train "$name" --problem 'D*' "${stacks[@]}" --learning-rate 6e-4 --steps 280 --average 0.99 \
                --flips rows --start-from "$dir/begun-stack-dp" ;;
        *) echo "no such network: $name" >&2; exit 2 ;;
    esac
    dioptre export "$dir/$name" "$dir/weights/$name.onnx" --half
done
