// SPDX-License-Identifier: Apache-2.0
// Computes:   values of a few variables that make many residuals small.
// Formula:    minimises sum s^2 log(1 + (w r / s)^2) + sum (pull (x - e) / e)^2 by damped Gauss-Newton steps on the
//             weighted problem (weight 1 / (1 + (w r / s)^2)); a variable at a bound that wants out is held there. Standard
//             errors: sqrt of the diagonal of sigma^2 (J'WJ + P)^-1, sigma^2 the weighted mean square.
// Source:     the usual iteratively reweighted least squares (Holland and Welsch 1977) in Marquardt's damping.
// Valid when: residuals are smooth in the variables.
// Ignores:    that rows repeat each other (the caller's weights tell).
// Checked by: tests/calibrate/robust_fit_test.cpp.
#include "calibrate/robust_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace shardfit::calibrate {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kRelativeStep = 2e-3;  // assumed: of a variable's expectation, for its derivative
constexpr double kFirstDamping = 1e-3, kDampingUp = 8, kDampingDown = 0.3, kMostDamping = 1e7;

std::span<const double> view(const VectorXd& v) { return {v.data(), std::size_t(v.size())}; }

/// The weighted residuals at one point and what they cost.
struct Point {
  VectorXd x, residuals;
  double cost = 0;
};

class Problem {
 public:
  Problem(const std::vector<Variable>& variables, const Objective& objective, const FitOptions& options)
      : variables_(variables), objective_(objective), scale_(options.cauchy_scale) {}

  Eigen::Index rows() const { return Eigen::Index(objective_.weights.size()); }
  Eigen::Index columns() const { return Eigen::Index(variables_.size()); }

  VectorXd start() const {
    VectorXd x(columns());
    for (Eigen::Index i = 0; i < columns(); ++i) x[i] = variables_[std::size_t(i)].start;
    return inside(x);
  }
  VectorXd inside(VectorXd x) const {
    for (Eigen::Index i = 0; i < x.size(); ++i)
      x[i] = std::clamp(x[i], variables_[std::size_t(i)].low, variables_[std::size_t(i)].high);
    return x;
  }
  double pull_of(Eigen::Index i) const {
    const Variable& v = variables_[std::size_t(i)];
    return v.expected != 0 ? v.pull / std::abs(v.expected) : 0;
  }
  double pulled(Eigen::Index i, double x) const { return pull_of(i) * (x - variables_[std::size_t(i)].expected); }

  Point at(VectorXd x) const {
    Point p{std::move(x), VectorXd(rows()), 0};
    for (Eigen::Index r = 0; r < rows(); ++r) {
      p.residuals[r] = weight(r) * objective_.residual(std::size_t(r), view(p.x));
      const double q = p.residuals[r];
      p.cost += scale_ > 0 ? scale_ * scale_ * std::log1p(q * q / (scale_ * scale_)) : q * q;
    }
    for (Eigen::Index i = 0; i < columns(); ++i) p.cost += std::pow(pulled(i, p.x[i]), 2);
    return p;
  }
  double trust(double residual) const { return scale_ > 0 ? 1 / (1 + std::pow(residual / scale_, 2)) : 1; }

  MatrixXd jacobian(const Point& p) const {
    MatrixXd j = MatrixXd::Zero(rows(), columns());
    VectorXd x = p.x;
    for (Eigen::Index c = 0; c < columns(); ++c) {
      const Variable& v = variables_[std::size_t(c)];
      const double size = std::max({std::abs(v.expected), std::abs(x[c]), (v.high - v.low) / 2});
      const double step = x[c] + kRelativeStep * size <= v.high ? kRelativeStep * size : -kRelativeStep * size;
      const double before = x[c];
      x[c] = before + step;
      for (Eigen::Index r = 0; r < rows(); ++r)
        if (objective_.depends(std::size_t(r), std::size_t(c)))
          j(r, c) = (weight(r) * objective_.residual(std::size_t(r), view(x)) - p.residuals[r]) / step;
      x[c] = before;
    }
    return j;
  }
  bool holds(Eigen::Index i, double x, double downhill) const {
    const Variable& v = variables_[std::size_t(i)];
    return (x <= v.low && downhill < 0) || (x >= v.high && downhill > 0);
  }

 private:
  double weight(Eigen::Index r) const { return objective_.weights[std::size_t(r)]; }
  const std::vector<Variable>& variables_;
  const Objective& objective_;
  double scale_;
};

/// Normal equations of the weighted problem, the pull included.
struct Normal {
  MatrixXd matrix;
  VectorXd downhill;
};

Normal normal_equations(const Problem& problem, const Point& p, const MatrixXd& j) {
  VectorXd trust(p.residuals.size());
  for (Eigen::Index r = 0; r < trust.size(); ++r) trust[r] = problem.trust(p.residuals[r]);
  Normal n{j.transpose() * trust.asDiagonal() * j, -(j.transpose() * trust.asDiagonal() * p.residuals)};
  for (Eigen::Index i = 0; i < problem.columns(); ++i) {
    n.matrix(i, i) += std::pow(problem.pull_of(i), 2);
    n.downhill[i] -= problem.pull_of(i) * problem.pulled(i, p.x[i]);
  }
  return n;
}

VectorXd damped_step(const Problem& problem, const Point& p, const Normal& normal, double damping) {
  MatrixXd m = normal.matrix;
  VectorXd g = normal.downhill;
  for (Eigen::Index i = 0; i < m.rows(); ++i) {
    m(i, i) += damping * std::max(normal.matrix(i, i), 1e-12);
    if (!problem.holds(i, p.x[i], g[i])) continue;
    m.row(i).setZero();
    m.col(i).setZero();
    m(i, i) = 1;
    g[i] = 0;
  }
  return m.ldlt().solve(g);
}

std::vector<double> standard_errors(const Problem& problem, const Point& p, const MatrixXd& j) {
  const Normal normal = normal_equations(problem, p, j);
  double squares = 0;
  for (Eigen::Index r = 0; r < problem.rows(); ++r) squares += problem.trust(p.residuals[r]) * std::pow(p.residuals[r], 2);
  const double freedom = double(std::max<Eigen::Index>(1, problem.rows() - problem.columns()));
  const MatrixXd inverse = normal.matrix.completeOrthogonalDecomposition().pseudoInverse();
  std::vector<double> errors;
  for (Eigen::Index i = 0; i < problem.columns(); ++i)
    errors.push_back(std::sqrt(std::max(0.0, inverse(i, i)) * squares / freedom));
  return errors;
}

}  // namespace

FittedVariables fit(const std::vector<Variable>& variables, const Objective& objective, const FitOptions& options) {
  const Problem problem(variables, objective, options);
  Point best = problem.at(problem.start());
  MatrixXd j = problem.jacobian(best);
  double damping = kFirstDamping;
  FittedVariables out;
  for (; out.iterations < options.max_iterations; ++out.iterations) {
    const Normal normal = normal_equations(problem, best, j);
    const double before = best.cost;
    bool moved = false;
    while (!moved && damping < kMostDamping) {
      Point next = problem.at(problem.inside(best.x + damped_step(problem, best, normal, damping)));
      moved = next.cost < best.cost;
      damping *= moved ? kDampingDown : kDampingUp;
      if (moved) best = std::move(next);
    }
    if (!moved) break;
    j = problem.jacobian(best);
    if (before - best.cost <= options.tolerance * before) break;
  }
  const std::span<const double> values = view(best.x);
  out.values.assign(values.begin(), values.end());
  out.standard_errors = standard_errors(problem, best, j);
  out.cost = best.cost;
  return out;
}

}  // namespace shardfit::calibrate
