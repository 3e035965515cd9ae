// SPDX-License-Identifier: GPL-2.0
// The C++ program: inheritance, landing pads, catching, throwing, and frames of unusual shape. It is
// compiled twice: HALF 1 has main, HALF 2 what throws. Both have the templates and the classes.

#include <alloca.h>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using Log = std::vector<std::string>;

/* Logs its end, by return or while the stack is unwound. */
struct Guard {
	std::string name;
	Log &log;

	~Guard() { log.push_back("end of " + name); }
};

template <typename Key, typename Value>
[[gnu::noinline]] const Value &find(const std::map<Key, Value> &map, const Key &key)
{
	auto found = map.find(key);

	if (found == map.end())
		throw std::out_of_range("no such key");
	return found->second;
}

struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
};

int depth(int n, Log &log);
double aligned(int a, int b, int c, int d, int e, int f, int g, double h);
std::string on_stack(const char *text, unsigned int size);

#if HALF == 1

struct Circle : Shape {
	double radius;

	explicit Circle(double radius) : radius(radius)
	{
		if (radius < 0)
			throw std::invalid_argument("negative radius");
	}
	double area() const override { return 3.14 * radius * radius; }
};

[[gnu::noinline]] static double areas(double radius, Log &log)
{
	Guard guard{ "areas", log };
	std::vector<std::unique_ptr<Shape>> shapes;
	double total = 0;

	shapes.push_back(std::make_unique<Circle>(2));
	shapes.push_back(std::make_unique<Circle>(radius));
	for (const auto &shape : shapes)
		total += shape->area();
	return total;
}

int main()
{
	Log log;
	std::map<int, std::string> map{ { 1, "one" }, { 2, "two" } };

	for (int key : { 1, 3 }) {
		try {
			log.push_back(find(map, key) + std::to_string(areas(2 - key, log)));
			log.push_back(std::to_string(depth(5, log)));
		} catch (const std::string &e) {
			log.push_back(e);
		} catch (...) {
			log.push_back("caught");
		}
	}
	log.push_back(std::to_string(aligned(1, 2, 3, 4, 5, 6, 7, 8)) + on_stack("on the stack", 40));
	for (const auto &line : log)
		std::puts(line.c_str());
}

#else

/* The exception passes a frame with a destructor for each call. */
int depth(int n, Log &log)
{
	Guard guard{ "depth " + std::to_string(n), log };

	if (n == 0)
		throw find(std::map<int, std::string>{ { 0, "deep enough" } }, n);
	return depth(n - 1, log) + 1;
}

[[gnu::noinline]] static void fill(double *values, int n, double value)
{
	for (int i = 0; i < n; i++)
		values[i] = value + i;
}

/* The function realigns the stack, and finds arguments by another register: the last int is on the
 * caller's stack.
 */
double aligned(int a, int b, int c, int d, int e, int f, int g, double h)
{
	alignas(64) double values[16];

	fill(values, 16, h);
	return values[a] + values[b] + values[c] + values[d] + values[e] + values[f] + values[g];
}

/* The size of the frame is known only at run time. */
std::string on_stack(const char *text, unsigned int size)
{
	char *copy = static_cast<char *>(alloca(size));

	std::memset(copy, '.', size);
	std::memcpy(copy, text, std::min<std::size_t>(size, std::strlen(text)));
	return std::string(copy, size);
}

#endif
