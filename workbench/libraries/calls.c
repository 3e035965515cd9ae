// SPDX-License-Identifier: GPL-2.0
/*
 * A module for Lua whose functions call back: from Lua to C, by way of the C
 * library, and to Lua again.
 *
 *   calls.ready()                 does nothing: a place for gdb to stop at
 *   calls.sort(numbers, less)     sorts in place, by qsort_r()
 *   calls.search(numbers, order)  by bsearch(): the index where order(n) is 0, or nil
 *   calls.through(depth, f, ...)  calls f through this number of frames
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdlib.h>

#include "lauxlib.h"
#include "lua.h"

/* gdb stops at this name. */
int calls_ready(lua_State *state)
{
	(void)state;
	return 0;
}

static double *numbers_of(lua_State *state, size_t *count)
{
	double *numbers;
	size_t number;

	luaL_checktype(state, 1, LUA_TTABLE);
	luaL_checktype(state, 2, LUA_TFUNCTION);
	*count = lua_rawlen(state, 1);
	numbers = lua_newuserdatauv(state, (*count + 1) * sizeof(*numbers), 0);
	for (number = 0; number < *count; number++) {
		lua_rawgeti(state, 1, number + 1);
		numbers[number] = lua_tonumber(state, -1);
		lua_pop(state, 1);
	}
	return numbers;
}

static int ask_less(lua_State *state, double one, double other)
{
	int less;

	lua_pushvalue(state, 2);
	lua_pushnumber(state, one);
	lua_pushnumber(state, other);
	lua_call(state, 2, 1);
	less = lua_toboolean(state, -1);
	lua_pop(state, 1);
	return less;
}

static int compare_numbers(const void *one, const void *other, void *state)
{
	double first = *(const double *)one, second = *(const double *)other;

	if (ask_less(state, first, second))
		return -1;
	return first != second;
}

static int calls_sort(lua_State *state)
{
	size_t count, number;
	double *numbers = numbers_of(state, &count);

	qsort_r(numbers, count, sizeof(*numbers), compare_numbers, state);
	for (number = 0; number < count; number++) {
		lua_pushnumber(state, numbers[number]);
		lua_rawseti(state, 1, number + 1);
	}
	lua_settop(state, 1);
	return 1;
}

static int order_number(const void *key, const void *element)
{
	lua_State *state = *(lua_State **)key;
	int order;

	lua_pushvalue(state, 2);
	lua_pushnumber(state, *(const double *)element);
	lua_call(state, 1, 1);
	order = (int)lua_tointeger(state, -1);
	lua_pop(state, 1);
	return order;
}

static int calls_search(lua_State *state)
{
	size_t count;
	double *numbers = numbers_of(state, &count), *found;

	found = bsearch(&state, numbers, count, sizeof(*numbers), order_number);
	if (found)
		lua_pushinteger(state, found - numbers + 1);
	else
		lua_pushnil(state);
	return 1;
}

/* Frames with and without a frame pointer. */
static void go_down(lua_State *state, long depth, int arguments)
{
	if (depth > 0) {
		volatile char *room = alloca(depth % 2 ? 24 : 8 + 32 * depth);

		room[0] = 1;
		go_down(state, depth - 1, arguments);
		room[0] = 0;
	} else {
		lua_call(state, arguments, LUA_MULTRET);
	}
}

static int calls_through(lua_State *state)
{
	long depth = luaL_checkinteger(state, 1);

	go_down(state, depth, lua_gettop(state) - 2);
	return lua_gettop(state) - 1;
}

static const luaL_Reg functions[] = {
	{ "ready", calls_ready },
	{ "sort", calls_sort },
	{ "search", calls_search },
	{ "through", calls_through },
	{ NULL, NULL },
};

int luaopen_calls(lua_State *state)
{
	luaL_newlib(state, functions);
	return 1;
}
