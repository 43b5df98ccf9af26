/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __SHIM_KUNIT_TEST_H
#define __SHIM_KUNIT_TEST_H

/*
 * As much of KUnit as halt_poll_kunit.c uses, to run that file in userspace.
 * The first expectation that fails ends the program: who wants to know all of
 * them runs KUnit itself.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit {
	const void *param_value;
	const char *name;
	char param_desc[KUNIT_PARAM_DESC_SIZE];
};

struct kunit_case {
	const char *name;
	void (*run_case)(struct kunit *test);
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(test)		{ #test, test, NULL }
#define KUNIT_CASE_PARAM(test, gen)	{ #test, test, gen }

#define KUNIT_ARRAY_PARAM(name, array, get_desc)				\
static const void *name##_gen_params(const void *prev, char *desc)		\
{										\
	typeof(&(array)[0]) next = prev ? (typeof(next))prev + 1 : (array);	\
										\
	if (next - (array) >= (long)ARRAY_SIZE(array))				\
		return NULL;							\
	get_desc(next, desc);							\
	return next;								\
}

static inline __noreturn __printf(3, 4)
void kunit_fail(const struct kunit *test, const char *what, const char *text, ...)
{
	va_list args;

	printf("not ok - %s %s: %s: ", test->name, test->param_desc, what);
	va_start(args, text);
	vprintf(text, args);
	va_end(args);
	putchar('\n');
	exit(1);
}

#define KUNIT_EXPECT_TRUE_MSG(test, holds, ...)					\
do {										\
	if (!(holds))								\
		kunit_fail(test, #holds, __VA_ARGS__);				\
} while (0)

#define KUNIT_EXPECT_EQ_MSG(test, left, right, ...)				\
do {										\
	if ((left) != (right))							\
		kunit_fail(test, #left " == " #right, __VA_ARGS__);		\
} while (0)

#define KUNIT_EXPECT_EQ(test, left, right)					\
	KUNIT_EXPECT_EQ_MSG(test, left, right, "no")
#define KUNIT_EXPECT_TRUE(test, holds)						\
	KUNIT_EXPECT_TRUE_MSG(test, holds, "no")

#define KUNIT_ASSERT_EQ		KUNIT_EXPECT_EQ
#define KUNIT_ASSERT_EQ_MSG	KUNIT_EXPECT_EQ_MSG
#define KUNIT_ASSERT_TRUE	KUNIT_EXPECT_TRUE
#define KUNIT_ASSERT_TRUE_MSG	KUNIT_EXPECT_TRUE_MSG

#ifndef MODULE_LICENSE
#define MODULE_LICENSE(text)
#endif
#ifndef MODULE_DESCRIPTION
#define MODULE_DESCRIPTION(text)
#endif

static inline void strscpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
}

static inline void kunit_run_case(const struct kunit_case *c)
{
	struct kunit test = { .name = c->name };
	const void *param = NULL;

	if (!c->generate_params) {
		c->run_case(&test);
	} else {
		while ((param = c->generate_params(param, test.param_desc))) {
			test.param_value = param;
			c->run_case(&test);
		}
	}
	printf("ok - %s\n", c->name);
}

/* Cases that have this text in their names are left out. */
static inline void kunit_run_suite(const struct kunit_suite *suite, const char *without)
{
	const struct kunit_case *c;

	for (c = suite->test_cases; c->run_case; c++) {
		if (!without || !strstr(c->name, without))
			kunit_run_case(c);
	}
}

#define kunit_test_suite(suite)							\
int main(int argc, char **argv)							\
{										\
	kunit_run_suite(&(suite), argc > 1 ? argv[1] : NULL);			\
	return 0;								\
}

#endif /* __SHIM_KUNIT_TEST_H */
