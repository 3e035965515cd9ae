-- SPDX-License-Identifier: GPL-2.0
--
-- Work for the profiler: lua work.lua ITERATIONS [MODULES]
--
-- Calls from Lua to Lua stay inside one luaV_execute().  Stacks get deep where C
-- calls back into Lua: so here sort, gsub, pcall, metamethods, coroutines and
-- tostring do this, recursively, and so do modules, if their directory is given.
-- The output depends only on the number of iterations.

local iterations = tonumber(arg and arg[1] or 10)
assert(iterations and iterations >= 1, "usage: lua work.lua ITERATIONS [MODULES]")

-- math.random has another seed in each run.
local state = 42
local function random(limit)
	state = (state * 1103515245 + 12345) % 2147483648
	return state // 65536 % limit + 1
end

local function fib(n)
	if n < 2 then return n end
	return fib(n - 1) + fib(n - 2)
end

local function ackermann(m, n)
	if m == 0 then return n + 1 end
	if n == 0 then return ackermann(m - 1, 1) end
	return ackermann(m - 1, ackermann(m, n - 1))
end

-- Each level adds a pcall, and so a C frame.
local function through_pcall(depth, work, ...)
	if depth == 0 then return work(...) end
	local ok, result = pcall(through_pcall, depth - 1, work, ...)
	assert(ok, result)
	return result
end

-- Sorts whose comparison itself sorts.
local function compare_by_sorting(a, b)
	local pair = { a, b, a + b, a - b }
	table.sort(pair, function(x, y) return x < y end)
	return pair[1] + 2 * pair[4] < pair[2] + 2 * pair[3] + (a - b)
end

local function sorted(size)
	local values = {}
	for i = 1, size do values[i] = random(1000) end
	table.sort(values, function(a, b)
		if a == b then return false end
		compare_by_sorting(a, b)
		return a < b
	end)
	return values[1] + values[size]
end

-- A substitution whose replacement substitutes, until nothing is left.
local function rewrite(text, depth)
	if depth == 0 then return (text:upper()) end
	return (text:gsub("%w+", function(word)
		return rewrite(word .. depth, depth - 1)
	end))
end

-- Arithmetic and comparison that go through metamethods.
local number = {}
number.__add = function(a, b) return setmetatable({ v = a.v + b.v }, number) end
number.__lt = function(a, b) return a.v < b.v end
number.__tostring = function(a) return ("<%d>"):format(a.v) end
local function boxed_fib(n)
	if n < setmetatable({ v = 2 }, number) then return n end
	return boxed_fib(setmetatable({ v = n.v - 1 }, number)) +
		boxed_fib(setmetatable({ v = n.v - 2 }, number))
end

-- A tree walked by coroutines, one inside the other.
local function tree(depth)
	if depth == 0 then return { value = random(9) } end
	return { left = tree(depth - 1), value = random(9), right = tree(depth - 1) }
end
local function walk(node)
	return coroutine.wrap(function()
		if node.left then for v in walk(node.left) do coroutine.yield(v) end end
		coroutine.yield(node.value)
		if node.right then for v in walk(node.right) do coroutine.yield(v) end end
	end)
end
local function sum(node)
	local total = 0
	for v in walk(node) do total = total + v end
	return total
end

-- Patterns of lpeg that call back, also while they still match; and arithmetic.
local function modules(directory)
	package.cpath = directory .. "/?.so"
	local lpeg, cjson = require "lpeg", require "cjson"
	local down

	local function captured(level, work)
		local result
		local word = lpeg.C(lpeg.R("az") ^ 1) / function(text)
			if text == "down" then result = down(level - 1, work) end
			return text:upper()
		end
		local words = lpeg.P { lpeg.Ct(word * (" " * lpeg.V(1)) ^ -1) }
		assert(words:match("first down last")[1] == "FIRST")
		return result
	end
	local function matched(level, work)
		local result
		local here = lpeg.Cmt(lpeg.P(1), function(_, place)
			result = down(level - 1, work)
			return place
		end)
		assert((lpeg.P("a") ^ 0 * here):match("aab"))
		return result
	end
	function down(level, work)
		if level == 0 then return work() end
		return (level % 2 == 0 and captured or matched)(level, work)
	end

	local function encoded()
		local list = {}
		for i = 1, 40 do list[i] = { name = "n" .. i, value = i / 3, flag = i % 2 == 0 } end
		return #cjson.decode(cjson.encode({ list = list })).list
	end
	local arithmetic = lpeg.P {
		"sum",
		sum = lpeg.Cf(lpeg.V "product" * lpeg.Cg(lpeg.S "+-" * lpeg.V "product") ^ 0,
			function(a, b) return a + b end),
		product = lpeg.Cf(lpeg.V "value" * lpeg.Cg("*" * lpeg.V "value") ^ 0, function(a, b) return a * b % 1009 end),
		value = lpeg.R "09" ^ 1 / tonumber + "(" * lpeg.V "sum" * ")",
	}
	local function computed()
		return assert(arithmetic:match("(1+2*3)*(4+5*(6+7))+8*9*(10+11)"))
	end
	return function() return down(7, encoded) + through_pcall(2, down, 10, computed) end
end
local of_modules = arg[2] and modules(arg[2]) or function() return 0 end

local function mixed()
	local total = through_pcall(6, fib, 15)
	total = total + through_pcall(3, ackermann, 2, 6)
	total = total + through_pcall(4, sorted, 60)
	total = total + through_pcall(2, function() return #rewrite("a stack of frames", 6) end)
	total = total + through_pcall(3, function()
		return tonumber(tostring(boxed_fib(setmetatable({ v = 11 }, number))):match("%d+"))
	end)
	return total + through_pcall(1, sum, tree(5)) + of_modules()
end

local total = 0
for _ = 1, iterations do
	total = (total * 31 + mixed()) % 1000000007
end
print(("workload: %d iterations, checksum %d"):format(iterations, total))
