/* SPDX-License-Identifier: GPL-2.0 */
/* The templates and classes of both translation units of the C++ program. */

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

/* Logs its end, by return or while the stack is unwound. */
struct Guard {
	std::string name;
	std::vector<std::string> &log;

	Guard(std::string name, std::vector<std::string> &log) : name(std::move(name)), log(log) {}
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

template <typename T>
[[gnu::noinline]] T sum(const std::vector<T> &values, std::vector<std::string> &log)
{
	Guard guard("sum", log);
	T total{};

	for (const T &value : values)
		total += value;
	return total;
}

class Shape {
public:
	virtual ~Shape() = default;
	virtual double area() const = 0;
};

int depth(int n, std::vector<std::string> &log);
double aligned(int a, int b, int c, int d, int e, int f, int g, double h);
std::string on_stack(const char *text, unsigned int size);
std::string names(const std::map<int, std::string> &map, std::vector<std::string> &log);
