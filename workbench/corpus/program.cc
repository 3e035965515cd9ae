// SPDX-License-Identifier: GPL-2.0
// The C++ program, first half: inheritance, landing pads, catching.

#include <cstdio>
#include <memory>

#include "shared.h"

namespace {

class Square : public Shape {
	double side;

public:
	explicit Square(double side) : side(side) {}
	double area() const override { return side * side; }
};

class Circle : public Shape {
	double radius;

public:
	explicit Circle(double radius) : radius(radius)
	{
		if (radius < 0)
			throw std::invalid_argument("negative radius");
	}
	double area() const override { return 3.14 * radius * radius; }
};

[[gnu::noinline]] double areas(double radius, std::vector<std::string> &log)
{
	Guard guard("areas", log);
	std::vector<std::unique_ptr<Shape>> shapes;
	double total = 0;

	shapes.push_back(std::make_unique<Square>(2));
	shapes.push_back(std::make_unique<Circle>(radius));
	for (const auto &shape : shapes)
		total += shape->area();
	return total;
}

} // namespace

int main()
{
	std::vector<std::string> log;
	std::map<int, std::string> map{ { 1, "one" }, { 2, "two" } };
	int caught = 0;

	log.push_back(find(map, 1) + names(map, log));
	log.push_back(std::to_string(sum(std::vector<int>{ 1, 2, 3 }, log)));
	for (double radius : { 1., -1. }) {
		try {
			log.push_back(std::to_string(areas(radius, log)));
		} catch (const std::invalid_argument &e) {
			log.push_back(e.what());
			caught++;
		}
	}
	try {
		depth(5, log);
	} catch (const std::string &e) {
		log.push_back(e);
		caught++;
	}
	try {
		find(map, 3);
	} catch (...) {
		caught++;
	}
	log.push_back(std::to_string(aligned(1, 2, 3, 4, 5, 6, 7, 8)));
	log.push_back(on_stack("on the stack", 40));
	for (const auto &line : log)
		std::puts(line.c_str());
	return caught != 3;
}
