// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tables.h"
#include "uffd.h"

int uffd_open(int flags)
{
	int uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags);
	struct uffdio_api api = { .api = UFFD_API };

	if (uffd < 0)
		return -errno;
	if (!ioctl(uffd, UFFDIO_API, &api))
		return uffd;
	close(uffd);
	return -EPROTO;
}

int uffd_missing(int uffd, void *start, size_t len)
{
	struct uffdio_register missing = {
		.range = { (unsigned long)start, len },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return ioctl(uffd, UFFDIO_REGISTER, &missing) ? -errno : 0;
}

unsigned long uffd_wait(int uffd, int seconds)
{
	struct pollfd event = { .fd = uffd, .events = POLLIN };
	struct uffd_msg message;

	if (poll(&event, 1, seconds * 1000) != 1 ||
	    read(uffd, &message, sizeof(message)) != sizeof(message) ||
	    message.event != UFFD_EVENT_PAGEFAULT)
		return 0;
	return message.arg.pagefault.address;
}

int uffd_bring(int uffd, void *page, const void *bytes, size_t len)
{
	struct uffdio_copy copy = {
		.dst = (unsigned long)page, .src = (unsigned long)bytes, .len = len,
	};

	return ioctl(uffd, UFFDIO_COPY, &copy) ? -errno : 0;
}
