#!/bin/bash -eu
# Builds the fuzzers into $OUT, with their corpora, dictionaries and shared libraries. OSS-Fuzz sets SRC, OUT, WORK, CXX, CXXFLAGS
# and LIB_FUZZING_ENGINE. Words are names of fuzzers; without any, all are built.
source=$SRC/npzoo build=$WORK/build
readers=("$@")
[ ${#readers[@]} -gt 0 ] || readers=(bytes table image safetensors protocol checkpoint events recording space)

# The libraries of the distribution were compiled with libstdc++.
export CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
# Fuzzers run elsewhere: the loader looks beside them.
export LDFLAGS="${LDFLAGS:-} -Wl,-rpath,\$ORIGIN/lib"
[ -f "$build/build.ninja" ] || meson setup "$build" "$source" --buildtype=plain -Db_lundef=false -Db_pch=false \
  -Dcuda=disabled -Disas= -Dfuzz=true -Dfuzz_engine="$LIB_FUZZING_ENGINE"
ninja -C "$build" "${readers[@]/#/tests/fuzz_}"

mkdir -p "$OUT/lib"
for reader in "${readers[@]}"; do
  fuzzer=$OUT/fuzz_$reader
  cp "$build/tests/fuzz_$reader" "$fuzzer"
  cp "$source/tests/fuzz/$reader.dict" "$fuzzer.dict"
  (cd "$source/tests/fuzz/corpus/$reader" && python3 -m zipfile -c "${fuzzer}_seed_corpus.zip" ./*)
  # All but the C library, which is that of the machine.
  ldd "$fuzzer" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv)\.so' | xargs -r cp -n -t "$OUT/lib"
done
# Shared libraries find each other there.
for library in "$OUT"/lib/*; do
  ! command -v patchelf >/dev/null || patchelf --set-rpath "\$ORIGIN" "$library"
done
mkdir -p "$OUT/golden"
cp "$source"/tests/golden/*.safetensors "$OUT/golden/"
