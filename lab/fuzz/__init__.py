"""Hostile files: every kind of file that dioptre reads, changed at random, and read in this process.

    python -m lab.fuzz --seconds 600 --seed 1        mutants, one after the other
    python -m lab.fuzz --seconds 60 --only 4711      one of them again
    python -m lab.fuzz.interrupts --trials 100       stopped commands, resumed and compared

seeds     small good files of every kind, made on the spot, and what reads them
mutate    changes that know the structure of a file: headers, lengths, names, values
interrupts  SIGINT and SIGKILL at random moments

A mutant is good if it is refused by an error of dioptre's in one line, or read all the same. A traceback, a
hang, and memory above the limit are findings: exit code 1.
"""
