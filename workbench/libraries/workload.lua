-- SPDX-License-Identifier: GPL-2.0
--
-- Work for modules of Lua: lua workload.lua DIRECTORY MILLISECONDS
--
-- DIRECTORY has the modules.  Calls go from Lua to C and back, many levels deep,
-- through patterns of lpeg, calls.c, gsub, pcall and coroutines.

local directory, milliseconds = arg[1], tonumber(arg[2])
package.cpath = directory .. "/?.so"
package.path = ""
local lpeg = require "lpeg"
local cjson = require "cjson"
local calls = require "calls"
calls.ready()

-- Each level calls the next one in one of these ways.  The last level calls WORK.
local ways
local function down(level, work)
	if level == 0 then return work() end
	return ways[level % #ways + 1](level, work)
end

local function pattern(level, work)
	local result
	local word = lpeg.C(lpeg.R("az") ^ 1) / function(text)
		if text == "down" then result = down(level - 1, work) end
		return text:upper()
	end
	local words = lpeg.P { lpeg.Ct(word * (" " * lpeg.V(1)) ^ -1) }
	assert(words:match("first down last")[1] == "FIRST")
	return result
end

-- Called while the pattern still matches.
local function matched(level, work)
	local result
	local here = lpeg.Cmt(lpeg.P(1), function(_, place)
		result = down(level - 1, work)
		return place
	end)
	assert((lpeg.P("a") ^ 0 * here):match("aab"))
	return result
end

local function sorted(level, work)
	local result
	local numbers = { 3, 1, 2, 7, 5 }
	calls.sort(numbers, function(a, b)
		result = result or down(level - 1, work)
		return a < b
	end)
	assert(table.concat(numbers, " "):find("^1%.?0? 2"))
	return result
end

local function searched(level, work)
	local result
	local found = calls.search({ 1, 2, 3, 5, 8 }, function(n)
		result = result or down(level - 1, work)
		return 5 - n
	end)
	assert(found == 4)
	return result
end

local function through(level, work)
	return calls.through(level % 5 + 1, down, level - 1, work)
end

local function coroutines(level, work)
	local resume = coroutine.wrap(function()
		coroutine.yield(1)
		coroutine.yield(down(level - 1, work))
	end)
	resume()
	return resume()
end

local function substituted(level, work)
	local result;
	("a b c"):gsub("%w", function(letter)
		result = result or down(level - 1, work)
		return letter
	end)
	return result
end

local function caught(level, work)
	local good, result = pcall(down, level - 1, work)
	assert(good)
	return result
end

ways = { pattern, through, sorted, coroutines, searched, matched, substituted, caught }

local function encoded()
	local list = {}
	for number = 1, 40 do list[number] = { name = "n" .. number, value = number / 3, flag = number % 2 == 0 } end
	local again = cjson.decode(cjson.encode({ list = list }))
	assert(#again.list == 40)
	return #again.list
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

local function ordered()
	local numbers = {}
	for number = 1, 30 do numbers[number] = number * 37 % 31 end
	calls.sort(numbers, function(a, b) return a < b end)
	return numbers[1]
end

local works = { encoded, computed, ordered }
local rounds, total = 0, 0
-- os.clock() does not count the time when the process waits.
local finish = os.clock() + milliseconds / 1000
repeat
	rounds = rounds + 1
	for level = 0, 12, 3 do
		total = (total * 31 + down(level + rounds % 3, works[(rounds + level // 3) % #works + 1])) % 1000003
	end
until os.clock() > finish
print(("lua: %d rounds"):format(rounds))
