// Computed torque on the generated C code: fixed arrays, no allocation, no locks.
//
//     tau = M(q) (qdd_d + Kd (qd_d - qd) + Kp (q_d - q)) + V(q, qd)

#ifndef COMPUTED_TORQUE_HPP
#define COMPUTED_TORQUE_HPP

#include <array>

#include "manipulator_5dof.h"

constexpr int kJoints = MANIPULATOR_5DOF_JOINTS;
using Joints = std::array<double, kJoints>;  // root to tip: rad, rad/s, rad/s^2 or N m

struct Reference {
  Joints q, qd, qdd;
};

// The robot with one set of parameters. Never changes: any number of threads may use one.
class Model {
 public:
  // payload: mass [kg] at the tip; everything else as in the URDF.
  explicit Model(double payload_mass) {
    std::array<double, MANIPULATOR_5DOF_PARAMETERS> parameters;
    manipulator_5dof_default_parameters(parameters.data());
    parameters[kPayloadMass] = payload_mass;
    manipulator_5dof_prepare(parameters.data(), prepared_.data());
  }

  Joints inverse_dynamics(const Joints& q, const Joints& qd, const Joints& qdd) const {
    Joints tau;
    manipulator_5dof_inverse_dynamics_with(prepared_.data(), q.data(), qd.data(), qdd.data(), tau.data());
    return tau;
  }

  // false where the mass matrix is singular.
  bool forward_dynamics(const Joints& q, const Joints& qd, const Joints& tau, Joints& qdd) const {
    const int singular = manipulator_5dof_forward_dynamics_with(prepared_.data(), q.data(), qd.data(), tau.data(),
                                                                qdd.data());
    return singular == 0;
  }

  // Kinetic and potential energy [J].
  std::array<double, 2> energy(const Joints& q, const Joints& qd) const {
    std::array<double, 2> joules;
    manipulator_5dof_energy(prepared_.data(), q.data(), qd.data(), joules.data());
    return joules;
  }

 private:
  static constexpr int kPayloadMass = 3;  // place in the parameters array, from manipulator_5dof.h
  std::array<double, MANIPULATOR_5DOF_PREPARED> prepared_;
};

class ComputedTorque {
 public:
  // kp [1/s^2], kd [1/s]: the same error dynamics e'' + kd e' + kp e = 0 at every joint.
  ComputedTorque(const Model& model, double kp, double kd) : model_(model), kp_(kp), kd_(kd) {}

  Joints update(const Reference& wanted, const Joints& q, const Joints& qd) const {
    Joints qdd;
    for (int i = 0; i < kJoints; ++i)
      qdd[i] = wanted.qdd[i] + kd_ * (wanted.qd[i] - qd[i]) + kp_ * (wanted.q[i] - q[i]);
    return model_.inverse_dynamics(q, qd, qdd);
  }

 private:
  const Model& model_;
  double kp_, kd_;
};

#endif
