# Set-up, demo, installation, examples.
VERSION  = $(shell sed -n 's/^.define GX_VERSION_TEXT "\(.*\)"/\1/p' include/gpuexpr.h)
BINDIR  ?= $(PREFIX)/bin
INCDIR   = $(PREFIX)/include
PKGDIR   = $(LIBDIR)/pkgconfig
DESTDIR ?=
DEMO     = $(B)/demo

setup:
	@./bootstrap

# In a make of its own: setup may install what the rules of this one looked for when it started.
demo: setup
	@$(MAKE) $(JOBS) --no-print-directory all
	@sh scripts/demo.sh $(B)/gpuexpr $(DEMO)

# As $(B)/gpuexpr, without the search path that lets a carried folder bring its own libsleef. In a folder whose name is no
# command: people have $(B) on PATH.
$(B)/dist/gpuexpr: $(TOOL_O) $(B)/libgpuexpr.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(TOOL_O) $(B)/libgpuexpr.a $(LIBS) -lz

$(B)/dist/libgpuexpr.so.0: $(LIB_O) scripts/exports.map
	@mkdir -p $(@D)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-soname,libgpuexpr.so.0 -Wl,--version-script=scripts/exports.map -o $@ $(LIB_O) $(LIBS)

# One line for the shell, which passes folders by: with $(B) on PATH make would take $(B)/install, where an older build left one, for the
# command.
install: $(B)/dist/gpuexpr $(B)/dist/libgpuexpr.so.0 $(B)/libgpuexpr.a
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBDIR)' '$(DESTDIR)$(INCDIR)' '$(DESTDIR)$(PKGDIR)' && \
	install -m 755 $(B)/dist/gpuexpr '$(DESTDIR)$(BINDIR)/gpuexpr' && \
	install -m 755 $(B)/dist/libgpuexpr.so.0 '$(DESTDIR)$(LIBDIR)/libgpuexpr.so.0' && \
	ln -sf libgpuexpr.so.0 '$(DESTDIR)$(LIBDIR)/libgpuexpr.so' && \
	install -m 644 $(B)/libgpuexpr.a '$(DESTDIR)$(LIBDIR)/libgpuexpr.a' && \
	install -m 644 include/gpuexpr.h '$(DESTDIR)$(INCDIR)/gpuexpr.h'
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' scripts/gpuexpr.pc.in \
		>'$(DESTDIR)$(PKGDIR)/gpuexpr.pc'
	@chmod 644 '$(DESTDIR)$(PKGDIR)/gpuexpr.pc'
	@[ -n '$(DESTDIR)' ] || ldconfig 2>/dev/null || true

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/gpuexpr' '$(DESTDIR)$(LIBDIR)/libgpuexpr.so.0' '$(DESTDIR)$(LIBDIR)/libgpuexpr.so' \
		'$(DESTDIR)$(LIBDIR)/libgpuexpr.a' '$(DESTDIR)$(INCDIR)/gpuexpr.h' '$(DESTDIR)$(PKGDIR)/gpuexpr.pc'

test-install: all
	$(call log,install,sh tests/install.sh '$(MAKE)' '$(CC)' '$(CXX)' '$(abspath $(B))')

# The examples as a user runs them: formulas by the tool, C programs compiled by the line in their first comment.
test-examples: all
	$(call log,examples,sh tests/examples.sh $(B) '$(CC)')

.PHONY: setup demo install uninstall test-install test-examples
