#!/bin/sh
# kernel_objects.sh LD OBJCOPY NUMBER OUTPUT OBJECT…: makes one object of those that kernels were compiled to for one instruction set,
# npzoo::Isa of this number. Only the kernels themselves keep a name outside: the type of their context contains the instruction
# set. Inline functions and templates, which have one name in all instruction sets, do not, or else the linker would keep one of them
# for all, and an older processor would stop with an illegal instruction.
set -e
ld=$1 objcopy=$2 number=$3 output=$4
shift 4
"$ld" -r --force-group-allocation -o "$output.all" "$@"
"$objcopy" --wildcard --keep-global-symbol="*10CpuContextILNS_3IsaE${number}E*" "$output.all" "$output"
rm "$output.all"
