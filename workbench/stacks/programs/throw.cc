// SPDX-License-Identifier: GPL-2.0

// Throws through many frames of several kinds, and catches on the way.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Node {
	virtual ~Node() = default;
	virtual int visit(int depth) const = 0;
};

struct Inner : Node {
	std::string name;
	const Node &below;

	Inner(std::string name, const Node &below) : name(std::move(name)), below(below) {}

	int visit(int depth) const override
	{
		std::vector<int> room(depth % 7 + 1, depth);
		std::string text = name + std::to_string(depth);

		if (depth % 11 == 0) {
			try {
				return below.visit(depth + 1) + room[0];
			} catch (const std::out_of_range &) {
				throw std::runtime_error(text);
			}
		}
		return below.visit(depth + 1) + static_cast<int>(text.size());
	}
};

struct Leaf : Node {
	int visit(int depth) const override
	{
		std::map<int, std::string> map{{depth, "leaf"}};

		return static_cast<int>(map.at(-depth).size());
	}
};

int work(int rounds)
{
	std::vector<Inner *> nodes;
	Leaf leaf;
	const Node *last = &leaf;
	int caught = 0;

	for (int i = 0; i < 40; i++) {
		nodes.push_back(new Inner("node", *last));
		last = nodes.back();
	}
	for (int i = 0; i < rounds; i++) {
		std::function<int()> run = [last] { return last->visit(1); };

		try {
			caught += run();
		} catch (const std::exception &e) {
			caught += e.what()[0] == 'n';
		}
	}
	for (auto node : nodes)
		delete node;
	return caught;
}

} // namespace

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
	int results[2];
	std::thread other([&] { results[0] = work(rounds); });

	results[1] = work(rounds);
	other.join();
	std::printf("%d %d\n", results[0], results[1]);
	return results[0] != rounds || results[1] != rounds;
}
