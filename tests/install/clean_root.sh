# Sourced in the project's folder: an empty Debian 12 to install into, without root's files being touched. Needs root.
# clean_root FOLDER [PACKAGE...]: copies the system that debootstrap made (once, kept in TUNEONCE_CLEAN_ROOT, default
# build/clean_root) to FOLDER and installs PACKAGEs there. `within FOLDER COMMAND...` runs there, with none of our variables.
within() {
  local folder=$1; shift
  chroot "$folder" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
clean_root() {
  local folder=$1 base; shift
  base=$(realpath -m "${TUNEONCE_CLEAN_ROOT:-build/clean_root}")
  if [ ! -e "$base/usr/bin/apt-get" ]; then
    scripts/install_dependencies --packages || return 1
    debootstrap --variant=minbase bookworm "$base" http://deb.debian.org/debian > "$folder.log" 2>&1 ||
      { tail -n 5 "$folder.log" >&2; return 1; }
  fi
  cp -a "$base" "$folder"
  cp /etc/resolv.conf "$folder/etc/resolv.conf"
  mount -t proc proc "$folder/proc"
  [ $# -eq 0 ] && return
  within "$folder" sh -c "apt-get update && apt-get install -y --no-install-recommends $*" > "$folder.log" 2>&1 ||
    { tail -n 5 "$folder.log" >&2; return 1; }
}
remove_root() { umount "$1/proc" 2> /dev/null; rm -rf --one-file-system "$1"; }
