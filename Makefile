# A thin front for meson; see meson.build.
B ?= build

.PHONY: build test clean install
build: $(B)/build.ninja
	ninja -C $(B)

$(B)/build.ninja:
	meson setup $(B)

test: build
	meson test -C $(B) --print-errorlogs

install: build
	meson install -C $(B)

clean:
	rm -rf $(B)
