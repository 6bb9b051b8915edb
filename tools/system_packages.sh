#!/bin/sh
# Installs what some tests need, where we may; else they say that they were skipped. Chromium is
# found by find_browser.py.
set -u
as_root=
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=sudo; fi

wanted() { # COMMAND PACKAGE...
  command=$1 && shift
  if command -v "$command" >/dev/null; then return; fi
  if { [ "$(id -u)" -eq 0 ] || [ -n "$as_root" ]; } && command -v apt-get >/dev/null \
    && $as_root apt-get update -qq >/dev/null 2>&1 \
    && $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq --yes --no-install-recommends "$@" >/dev/null 2>&1; then return; fi
  echo "$command cannot be installed here: its tests will be skipped" >&2
}
wanted firefox firefox-esr # the page is tested in it too
wanted WebKitWebDriver webkit2gtk-driver # and in WebKit, which Safari is
wanted Xvfb xvfb # the display that it draws on
wanted cargo cargo rustfmt # builds the native library; an old clippy would object to other things
