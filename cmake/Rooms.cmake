# SPDX-License-Identifier: Apache-2.0
# One static library a folder. Each room's headers are reached through a directory of their own, which only the rooms
# that name it put on their include path; so the compiler refuses an include that the table in CMakeLists.txt forbids.

add_library(shardfit_options INTERFACE)
# Designated initialisers name what they set; the members they leave out have defaults.
target_compile_options(shardfit_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                  -Wno-missing-field-initializers
                                                  -Wno-restrict)  # g++ 12 sees overlaps in std::string that are not there (GCC bug 105651)
if(SHARDFIT_WARNINGS_AS_ERRORS)
  target_compile_options(shardfit_options INTERFACE -Werror)
endif()
# Contracted floating point (fma) would let two builds of one formula differ in the last bit.
target_compile_options(shardfit_options INTERFACE -ffp-contract=off)

set(SHARDFIT_DATA_DIR "${CMAKE_CURRENT_SOURCE_DIR}" CACHE PATH "Where models/, hardware/ and scenarios/ are found")

# shardfit_room(<name> [ROOMS <room>...] [LINK <target>...])
function(shardfit_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/${name}/*.cpp
                                      ${CMAKE_CURRENT_SOURCE_DIR}/src/${name}/*/*.cpp)
  set(root ${CMAKE_BINARY_DIR}/rooms/${name})
  file(MAKE_DIRECTORY ${root}/shardfit)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/${name})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
  endif()
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include/shardfit/${name})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/include/shardfit/${name} ${root}/shardfit/${name} SYMBOLIC)
  endif()
  list(TRANSFORM ROOM_ROOMS PREPEND shardfit_)
  if(sources)
    add_library(shardfit_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(shardfit_${name} PRIVATE shardfit_options)
  else()
    add_library(shardfit_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(shardfit_${name} ${scope} ${root})
  target_link_libraries(shardfit_${name} ${scope} ${ROOM_ROOMS} ${ROOM_LINK})
endfunction()
