// SPDX-License-Identifier: GPL-2.0
/*
 * The functions that the workload calls by FFI, and a module for Lua with a function for
 * each part of the workload. The function's name shows to which part a stack belongs.
 */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

int work_sort(int *numbers, int count)
{
	unsigned int seed = count;

	for (int i = 0; i < count; i++) {
		seed = seed * 1103515245 + 12345;
		numbers[i] = seed >> 8;
	}
	qsort(numbers, count, sizeof(*numbers), compare);
	return numbers[count / 2];
}

/* The library calls back into Lua. */
int work_call_back(int *numbers, int count, int (*by)(const void *left, const void *right))
{
	for (int i = 0; i < count; i++)
		numbers[i] = i * 7919 % count;
	qsort(numbers, count, sizeof(*numbers), by);
	return numbers[count / 2];
}

#define MARK(name)						\
static int mark_##name(lua_State *lua)				\
{								\
	lua_call(lua, lua_gettop(lua) - 1, 1);			\
	/* A jump would leave no frame. */		\
	return lua_gettop(lua);					\
}
MARK(numbers)
MARK(strings)
MARK(tables)
MARK(sorting)
MARK(errors)
MARK(foreign)
MARK(callbacks)
MARK(coroutines)
MARK(traces)
MARK(flushing)
MARK(filling)

int luaopen_work(lua_State *lua)
{
	static const luaL_Reg marks[] = {
		{ "numbers", mark_numbers }, { "strings", mark_strings }, { "tables", mark_tables },
		{ "sorting", mark_sorting }, { "errors", mark_errors }, { "foreign", mark_foreign },
		{ "callbacks", mark_callbacks }, { "coroutines", mark_coroutines },
		{ "traces", mark_traces }, { "flushing", mark_flushing },
		{ "filling", mark_filling }, { NULL, NULL }
	};

	lua_newtable(lua);
	luaL_register(lua, NULL, marks);
	return 1;
}
