-- SPDX-License-Identifier: GPL-2.0
--
-- Work for the profiler: workload.lua DIRECTORY CODE SECONDS PART...
--
-- DIRECTORY has work.so.  Each part runs for SECONDS, and at least five times.  A
-- function of work.so with the part's name calls it.  The script prints the numbers of
-- traces, the kernel's tables, and the ranges of compiled code.  CODE gets the code.

local directory, code, seconds = arg[1], arg[2], tonumber(arg[3])
package.cpath = directory .. "/?.so"
local marks = require "work"
local ffi = require "ffi"
ffi.cdef [[
int work_sort(int *numbers, int count);
int work_call_back(int *numbers, int count, int (*by)(const void *left, const void *right));
]]
local work = ffi.load(directory .. "/work.so")

-- LuaJIT gives up no trace, except in the parts for this.
jit.opt.start("maxtrace=60000", "maxmcode=65536")

local events = { start = 0, stop = 0, abort = 0, flush = 0 }
jit.attach(function(what) events[what] = events[what] + 1 end, "trace")

local parts = {}

-- Loops, floating point, rounding, calls of the C library's mathematics.
function parts.numbers()
	local count, sum = 0, 0
	for y = 0, 40 do
		for x = 0, 60 do
			local cr, ci, zr, zi, n = x / 30 - 1.5, y / 20 - 1, 0, 0, 0
			while n < 200 and zr * zr + zi * zi < 4 do
				zr, zi, n = zr * zr - zi * zi + cr, 2 * zr * zi + ci, n + 1
			end
			count = count + n
		end
	end
	for i = 1, 1500 do
		sum = sum + math.floor(i / 3) % 7 + math.sin(i) ^ 2 + math.exp(-i) + i % 2.5
	end
	return count + sum
end

function parts.strings()
	local pieces = {}
	for i = 1, 600 do
		pieces[#pieces + 1] = tostring(i) .. "," .. string.format("%d:%x", i, i * 31)
	end
	local text = table.concat(pieces, ";")
	text = text:gsub("%d+", function(number) return #number > 2 and "<" .. number .. ">" or nil end)
	local sum = 0
	for i = 1, #text do
		sum = (sum * 31 + text:byte(i)) % 65521
	end
	return sum
end

local Point = {}
Point.__index = Point
Point.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, Point) end
Point.__lt = function(a, b) return a.x < b.x end

function parts.tables()
	local sum, point, one = 0, setmetatable({ x = 0, y = 0 }, Point), setmetatable({ x = 1, y = 2 }, Point)
	local words = {}
	for i = 1, 500 do
		words["w" .. i % 97] = i
		words[i] = i
		point = point + one
		sum = sum + point.x + (one < point and 1 or 0)
	end
	for key, value in pairs(words) do
		sum = sum + value
	end
	for _, value in ipairs(words) do
		sum = sum + value
	end
	return sum
end

-- C calls back: LuaJIT does not compile this function, but compiles the comparison.
function parts.sorting()
	local numbers, seed = {}, 42
	for i = 1, 300 do
		seed = (seed * 16807) % 2147483647
		numbers[i] = seed
	end
	table.sort(numbers, function(a, b)
		local left, right = 0, 0
		for shift = 0, 3 do
			left, right = left + math.floor(a / 2 ^ shift), right + math.floor(b / 2 ^ shift)
		end
		return left < right
	end)
	return numbers[1]
end

function parts.errors()
	local failed = 0
	for i = 1, 300 do
		local good = pcall(function(n)
			if n % 3 == 0 then
				error("three")
			end
			local sum = 0
			for j = 1, 100 do
				sum = sum + j * n
			end
			return sum
		end, i)
		failed = failed + (good and 0 or 1)
	end
	return failed
end

-- From compiled code through our library and the C library, and back to our library.
local array = ffi.new("int[4000]")
function parts.foreign()
	local sum = 0
	for i = 1, 60 do
		sum = sum + work.work_sort(array, 100 + i)
	end
	return sum
end

-- The C library calls Lua.
local by = ffi.cast("int (*)(const void *, const void *)", function(left, right)
	local difference = ffi.cast("const int *", left)[0] - ffi.cast("const int *", right)[0]
	local product = 1
	for i = 1, 30 do
		product = product * i % 65521
	end
	return product > 0 and difference or 0
end)
function parts.callbacks()
	return work.work_call_back(array, 200, by)
end
jit.off(parts.callbacks)

function parts.coroutines()
	local sum = 0
	for value in coroutine.wrap(function()
		for i = 1, 300 do
			local inner = 0
			for j = 1, 50 do
				inner = inner + i * j
			end
			coroutine.yield(inner)
		end
	end) do
		sum = sum + value
	end
	return sum
end

-- Each call makes new code, with side traces.
local serial = 0
function parts.traces()
	local sum = 0
	for _ = 1, 20 do
		serial = serial + 1
		sum = sum + load(([[
			local sum = 0
			for i = 1, 400 do
				if i %% %d < 2 then sum = sum + i elseif i %% 3 == 0 then sum = sum - i / 2 end
			end
			return sum]]):format(serial % 11 + 3))()
	end
	return sum
end

function parts.flushing()
	local sum = parts.traces() + parts.tables()
	jit.flush()
	return sum
end

-- The areas of machine code are small and few. When they are full, LuaJIT flushes them.
function parts.filling()
	jit.opt.start("sizemcode=8", "maxmcode=48")
	local sum = 0
	for _ = 1, 5 do
		sum = sum + parts.traces() + parts.numbers() + parts.strings()
	end
	return sum
end

for i = 4, #arg do
	local run = parts[arg[i]]
	local calls, ends = 0, os.clock() + seconds
	repeat
		marks[arg[i]](run)
		calls = calls + 1
	until calls >= 5 and os.clock() > ends
	print("part", arg[i], calls)
end
print("traces", events.start, events.stop, events.abort, events.flush)

-- Print the lines of a file that match. They begin with a range of addresses, which FOUND
-- gets.
local function show(path, pattern, found)
	local file = io.open(path)
	if not file then
		return
	end
	for line in file:lines() do
		if line:match(pattern) then
			print(path, line)
			if found then
				found(line:match("^(%x+)-(%x+)"))
			end
		end
	end
	file:close()
end

local anonymous = " r%-xp 00000000 00:00 0 *$"
-- From here on there is no new code.
jit.off()
show("/proc/self/unwind_tables", " prctl ")
local file = assert(io.open(code, "wb"))
show("/proc/self/maps", anonymous, function(from, to)
	local start = tonumber(from, 16)
	local size = tonumber(to, 16) - start
	file:write(from, " ", size, "\n", ffi.string(ffi.cast("const char *", start), size))
end)
file:close()
jit.flush()
print("flushed")
show("/proc/self/unwind_tables", " prctl ")
show("/proc/self/maps", anonymous)
