# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # the caller sets apt
# Debian packages beside the machine's own; sourced behind lib.sh, never run.
# The caller has a directory $apt for them.

# A configuration of its own sees what write_sources chose alone, whatever the
# machine is subscribed to, and leaves the machine's own state as it is.
apt_private()
{
	local command=$1

	shift
	"$command" -o Dir::Etc::sourcelist="$apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferences=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o Dir::State::lists="$apt/lists" \
		-o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root "$@"
}

# mirror <suite>: where this machine gets Debian's packages (or security updates).
mirror()
{
	local want='^[a-z]+(-(updates|backports))?$'

	[[ $1 != *-security ]] || want='-security$'
	# shellcheck disable=SC2016 # these are for apt to expand
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' |
		awk -v want="$want" '$1 == "Debian" && $2 ~ want && !n++ { print $3 }'
}

# write_sources <suite>...
write_sources()
{
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg suite uri

	command -v apt-get >/dev/null || die "no apt-get: this needs Debian's packages"
	[[ -r $keyring ]] || die "$keyring is missing: install debian-archive-keyring"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/sources.list"
	for suite; do
		uri=$(mirror "$suite")
		[[ $uri ]] || die "apt knows no mirror for $suite: try apt-get update"
		echo "deb [signed-by=$keyring] $uri $suite main" >>"$apt/sources.list"
	done
}
