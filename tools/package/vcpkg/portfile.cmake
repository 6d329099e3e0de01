vcpkg_download_distfile(ARCHIVE
  URLS "@URL@"
  FILENAME "npzoo-${VERSION}.tar.gz"
  SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

if("tools" IN_LIST FEATURES)
  set(TOOLS true)
else()
  set(TOOLS false)
endif()

vcpkg_find_acquire_program(PYTHON3)

vcpkg_configure_meson(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -Dcuda=disabled
    -Demulator=disabled
    -Dpython=disabled
    -Dtests=false
    -Dtools=${TOOLS}
  ADDITIONAL_BINARIES
    "python3 = ['${PYTHON3}']"
)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/npzoo)
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES npzoo AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
