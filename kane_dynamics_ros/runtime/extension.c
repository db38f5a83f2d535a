/* Python binding of one generated module: compiled together with NAME.c, knows only NAME.h.

   A Kernel holds prepared parameters and never changes; its methods are the generated functions. They
   take float64 arrays of shape (n,) or (N, n) as they are, convert anything else that NumPy can, refuse
   wrong shapes and values that are not finite, and return new arrays, or the one that the caller gives as
   last argument (None for a new one). Work on batches releases the interpreter lock. A model is a Kernel, too: some
   of its methods are those here, which go to its class's Python methods where keywords are given. Their signatures
   and docstrings are those of the Python methods.

   The command line defines, by pasting, so that a name which is a macro somewhere (errno, NULL) stays whole:
   -DKD(function)=name_##function -DKD_SIZE(size)=NAME_##size -DKD_INIT=PyInit_name -DKD_TITLE="name"
   -DKD_HEADER="name.h"; and which functions are compiled with it (wrappers.h): those that are called first. The
   others' libraries are made from unit.c, and found, when they are called first. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include KD_HEADER

#include "run-batches.h" /* a hyphen, so that no NAME.h is called so */

typedef struct {
    PyObject_HEAD
    int plain; /* the parameters are the default ones: the functions that have them built in serve */
    double prepared[KD_SIZE(PREPARED) + 1];
} Kernel;

/* From configure(): */
static PyObject *find_form; /* find_form(function, many): the address of its wrapper for one state, or for many */
static PyObject *to_array;  /* to_array(name, value): a float64 array of what is none */
static PyObject *shape_error, *batch_error, *finite_error, *singular_error; /* make errors of their values */
static PyObject *model_class; /* whose Python methods take keywords */

#define KD_LINKAGE static
#include "wrappers.h"

static const char *const names_q[] = {"q"};
static const char *const names_qd[] = {"qd"};
static const char *const names_q_qd[] = {"q", "qd"};
static const char *const names_q_qd_qdd[] = {"q", "qd", "qdd"};
static const char *const names_q_qd_tau[] = {"q", "qd", "tau"};
static const char *const names_q_wrench[] = {"q", "wrench"};
#define KD_WIDTHS_q {JOINTS}
#define KD_WIDTHS_qd {JOINTS}
#define KD_WIDTHS_q_qd {JOINTS, JOINTS}
#define KD_WIDTHS_q_qd_qdd {JOINTS, JOINTS, JOINTS}
#define KD_WIDTHS_q_qd_tau {JOINTS, JOINTS, JOINTS}
#define KD_WIDTHS_q_wrench {JOINTS, 6 * KD_SIZE(TIPS)}
#define KD_OTHER_no(name) name
#define KD_OTHER_yes(name) name
#define KD_OTHER_defaults(name) name##_with

/* The wrappers of a function, or NULL until its library is loaded. */
#define KD_RUN_(name) KD_PICK(KD_RUNS_##name, run_##name, NULL)
#define KD_RUN(name) KD_RUN_(name)
#define KD_BATCH_(name) KD_PICK(KD_BATCHES_##name, batch_##name, NULL)
#define KD_BATCH(name) KD_BATCH_(name)
#define KD_TEXT_(name) #name
#define KD_TEXT(name) KD_TEXT_(name)

static PyArrayObject *as_input(PyObject *object, const char *name)
{
    if (PyArray_CheckExact(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_DOUBLE) {
        if (!PyArray_ISCARRAY_RO((PyArrayObject *)object))
            return (PyArrayObject *)PyArray_FROMANY(object, NPY_DOUBLE, 0, 0, NPY_ARRAY_IN_ARRAY);
        Py_INCREF(object);
        return (PyArrayObject *)object;
    }
    return (PyArrayObject *)PyObject_CallFunction(to_array, "sO", name, object);
}

/* The caller's array for the result: float64, C order, writable, of the right shape, apart from the inputs. */
static PyArrayObject *as_output(PyObject *object, int rank, const npy_intp *dims, const double *const *in,
                                int inputs, PyArrayObject *const *arrays)
{
    PyArrayObject *out = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_TYPE(out) != NPY_DOUBLE || !PyArray_ISCARRAY(out)) {
        PyErr_SetString(PyExc_TypeError, "out: a writable float64 array in C order is needed");
        return NULL;
    }
    if (PyArray_NDIM(out) != rank || !PyArray_CompareLists(PyArray_DIMS(out), dims, rank)) {
        PyErr_SetString(PyExc_ValueError, "out: its shape is not the result's");
        return NULL;
    }
    const double *first = (const double *)PyArray_DATA(out), *last = first + PyArray_SIZE(out);
    for (int k = 0; k < inputs; k++) {
        if (first < in[k] + PyArray_SIZE(arrays[k]) && in[k] < last) {
            PyErr_SetString(PyExc_ValueError, "out: it overlaps an input");
            return NULL;
        }
    }
    Py_INCREF(out);
    return out;
}

static PyObject *shape_of(PyArrayObject *array)
{
    PyObject *shape = PyTuple_New(PyArray_NDIM(array));
    for (int i = 0; shape && i < PyArray_NDIM(array); i++)
        PyTuple_SET_ITEM(shape, i, PyLong_FromSsize_t((Py_ssize_t)PyArray_DIM(array, i)));
    return shape;
}

static void raise_with(PyObject *make, PyObject *arguments)
{
    PyObject *error = arguments ? PyObject_CallObject(make, arguments) : NULL;
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(arguments);
}

/* Whether array k of the call has a shape that may be used; an exception is set where not. */
static int shape_is_right(PyArrayObject *const *arrays, int k, const char *const *names, int width)
{
    PyArrayObject *array = arrays[k], *first = arrays[0];
    const int rank = PyArray_NDIM(array), wanted = PyArray_NDIM(first);
    if ((rank != 1 && rank != 2) || PyArray_DIM(array, rank - 1) != width) {
        raise_with(shape_error, Py_BuildValue("(sNi)", names[k], shape_of(array), width));
        return 0;
    }
    if (rank != wanted || (rank == 2 && PyArray_DIM(array, 0) != PyArray_DIM(first, 0))) {
        PyObject *shape = wanted == 1 ? Py_BuildValue("(i)", width)
                                      : Py_BuildValue("(ni)", (Py_ssize_t)PyArray_DIM(first, 0), width);
        raise_with(batch_error, Py_BuildValue("(sNN)", names[k], shape_of(array), shape));
        return 0;
    }
    return 1;
}

/* A new array for one state's result: NumPy takes as long to make one as inverse dynamics takes. So the last two of
   each function are kept and used again once nobody else holds them: `tau = model.gravity(q)` in a loop drops one
   while it takes the other. */
static PyArrayObject *new_result(const Function *function, PyArrayObject **spare)
{
#ifndef Py_GIL_DISABLED
    for (int k = 0; k < 2; k++) {
        PyArrayObject *kept = spare[k];
        if (kept && Py_REFCNT(kept) == 1 && PyArray_NDIM(kept) == function->rank && PyArray_ISCARRAY(kept) &&
            PyArray_TYPE(kept) == NPY_DOUBLE &&
            PyArray_CompareLists(PyArray_DIMS(kept), function->extent, function->rank)) {
            Py_INCREF(kept);
            return kept;
        }
    }
#endif
    PyArrayObject *made = (PyArrayObject *)PyArray_SimpleNew(function->rank, function->extent, NPY_DOUBLE);
    if (made) {
        Py_XDECREF(spare[0]);
        spare[0] = spare[1];
        Py_INCREF(made);
        spare[1] = made;
    }
    return made;
}

/* Whether the function's wrapper is there, for one state or for many; else its library is asked for, which
   compiles it where it is absent: an exception is set where it cannot be had. */
static int form_is_there(Function *function, int many)
{
    if (many ? function->batch != NULL : function->run != NULL)
        return 1;
    PyObject *found = PyObject_CallFunction(find_form, "si", function->code, many);
    const size_t address = found ? PyLong_AsSize_t(found) : 0;
    Py_XDECREF(found);
    if (PyErr_Occurred())
        return 0;
    if (many)
        function->batch = (int (*)(const double *, const double *const *, double *, size_t))address;
    else
        function->run = (int (*)(const double *, const double *const *, double *))address;
    return 1;
}

__attribute__((noinline)) /* its copies, one a function, would take the compiler longer than all the rest */
static PyObject *evaluate(Kernel *self, Function *function, const char *const *names,
                          PyObject *const *args, Py_ssize_t nargs, PyArrayObject **spare)
{
    PyArrayObject *arrays[MOST_INPUTS] = {NULL, NULL, NULL}, *result = NULL;
    const double *in[MOST_INPUTS];
    int outcome = 0, ready = 1;
    if (nargs != function->inputs && nargs != function->inputs + 1)
        return PyErr_Format(PyExc_TypeError, "%s takes %d arrays, and optionally one for the result; %zd given",
                            function->name, function->inputs, nargs);
    if (nargs > function->inputs && args[nargs - 1] == Py_None)
        nargs--;
    for (int k = 0; k < function->inputs && ready; k++) {
        arrays[k] = as_input(args[k], names[k]);
        ready = arrays[k] && shape_is_right(arrays, k, names, function->width[k]);
        if (ready)
            in[k] = (const double *)PyArray_DATA(arrays[k]);
    }
    const int many = ready && PyArray_NDIM(arrays[0]) == 2, alone = !many || PyArray_DIM(arrays[0], 0) == 1;
    if (ready && form_is_there(function, !alone)) {
        npy_intp dims[4] = {many ? PyArray_DIM(arrays[0], 0) : 0, 0, 0, 0};
        for (int i = 0; i < function->rank; i++)
            dims[many + i] = function->extent[i];
        if (nargs == function->inputs && !many)
            result = new_result(function, spare);
        else if (nargs == function->inputs)
            result = (PyArrayObject *)PyArray_SimpleNew(many + function->rank, dims, NPY_DOUBLE);
        else
            result = as_output(args[nargs - 1], many + function->rank, dims, in, function->inputs, arrays);
    }
    if (result) {
        double *out = (double *)PyArray_DATA(result);
        if (alone) {
            outcome = run_some(function, self->prepared, in, out, 1, 0);
        } else {
            Py_BEGIN_ALLOW_THREADS
            outcome = run_shared(function, self->prepared, in, out, PyArray_DIM(arrays[0], 0));
            Py_END_ALLOW_THREADS
        }
    }
    for (int k = 0; k < function->inputs; k++)
        Py_XDECREF(arrays[k]);
    if (outcome) {
        Py_CLEAR(result);
        if (outcome <= NOT_FINITE)
            raise_with(finite_error, Py_BuildValue("(s)", NOT_FINITE - outcome < function->inputs
                                                              ? names[NOT_FINITE - outcome] : "result"));
        else
            raise_with(singular_error, Py_BuildValue("(i)", outcome - 1));
    }
    return (PyObject *)result;
}

/* What follows only passes on what it is given: optimising it more would take the compiler half a second. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif

static PyObject *evaluate_generally(PyObject *model, const char *name, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *keywords)
{
    const Py_ssize_t count = nargs + PyTuple_GET_SIZE(keywords);
    if (!PyObject_IsInstance(model, model_class))
        return PyErr_Format(PyExc_TypeError, "%s takes no keywords", name);
    PyObject *method = PyObject_GetAttrString(model_class, name), *result = NULL;
    PyObject **all = method ? PyMem_Malloc((size_t)(count + 1) * sizeof *all) : NULL;
    if (all) {
        all[0] = model;
        memcpy(all + 1, args, (size_t)count * sizeof *all);
        result = PyObject_Vectorcall(method, all, (size_t)nargs + 1, keywords);
    } else if (method) {
        PyErr_NoMemory();
    }
    PyMem_Free(all);
    Py_XDECREF(method);
    return result;
}

#define KD_FUNCTION(name, code, inputs, rank, d0, d1, d2, run, batch)                                    \
    {#name, code, KD_COUNT_##inputs, KD_WIDTHS_##inputs, rank, {d0, d1, d2}, (npy_intp)(d0) * (d1) * (d2), run, batch}

/* A method for each function, at the kernel's parameters: where they are not those that a function has built
   in, the one that takes them serves. */
#define KD_METHOD(name, inputs, prep, singular, rank, d0, d1, d2)                                  \
    static PyObject *method_##name(PyObject *self, PyObject *const *args, Py_ssize_t n,            \
                                   PyObject *keywords)                                             \
    {                                                                                              \
        static Function forms[2] = {                                                               \
            KD_FUNCTION(name, KD_TEXT(KD_OTHER_##prep(name)), inputs, rank, d0, d1, d2,            \
                        KD_RUN(KD_OTHER_##prep(name)), KD_BATCH(KD_OTHER_##prep(name))),           \
            KD_FUNCTION(name, #name, inputs, rank, d0, d1, d2, KD_RUN(name), KD_BATCH(name))};     \
        static PyArrayObject *spare[2];                                                            \
        Kernel *kernel = (Kernel *)self;                                                           \
        if (keywords)                                                                              \
            return evaluate_generally(self, #name, args, n, keywords);                           \
        return evaluate(kernel, &forms[kernel->plain], names_##inputs, args, n, spare);                 \
    }
KD_SIZE(FUNCTIONS)(KD_METHOD)

/* prepared(): the address of the prepared parameters, for C code that calls the functions without Python between.
   It is good as long as the kernel lives. */
static PyObject *kernel_prepared(PyObject *self, PyObject *none)
{
    (void)none;
    return PyLong_FromVoidPtr(((Kernel *)self)->prepared);
}

#define KD_ENTRY(name, inputs, prep, singular, rank, d0, d1, d2)                                  \
    {#name, (PyCFunction)(void (*)(void))method_##name, METH_FASTCALL | METH_KEYWORDS, NULL},
static PyMethodDef kernel_methods[] = {KD_SIZE(FUNCTIONS)(KD_ENTRY)
    {"prepared", kernel_prepared, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

/* Kernel(parameters, ...): as many numbers as NAME.h says. Further arguments are those of a derived class. */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)keywords;
    if (PyTuple_GET_SIZE(args) < 1)
        return PyErr_Format(PyExc_TypeError, "the parameters are missing");
    PyObject *given = PyTuple_GET_ITEM(args, 0);
    PyArrayObject *parameters = (PyArrayObject *)PyArray_FROMANY(given, NPY_DOUBLE, 1, 1, NPY_ARRAY_IN_ARRAY);
    if (!parameters)
        return NULL;
    Kernel *self = NULL;
    if (PyArray_SIZE(parameters) != KD_SIZE(PARAMETERS))
        PyErr_Format(PyExc_ValueError, "%d parameters are needed", (int)KD_SIZE(PARAMETERS));
    else if ((self = (Kernel *)type->tp_alloc(type, 0))) {
        const double *values = (const double *)PyArray_DATA(parameters);
        double defaults[KD_SIZE(PARAMETERS) + 1];
        KD(default_parameters)(defaults);
        self->plain = memcmp(values, defaults, sizeof(double) * KD_SIZE(PARAMETERS)) == 0;
        KD(prepare)(values, self->prepared);
    }
    Py_DECREF(parameters);
    return (PyObject *)self;
}

static PyTypeObject kernel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = KD_TITLE ".Kernel",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_methods = kernel_methods,
    .tp_new = kernel_new,
};

static void replace(PyObject **kept, PyObject *object)
{
    PyObject *old = *kept;
    Py_INCREF(object);
    *kept = object;
    Py_XDECREF(old);
}

/* The docstrings of the methods, with their signatures: {method: text}, kept for good. */
static void document(PyObject *documents)
{
    static PyObject *kept = NULL;
    if (kept) /* by an earlier load of this library: the same */
        return;
    for (PyMethodDef *method = kernel_methods; method->ml_name; method++) {
        PyObject *text = PyDict_GetItemString(documents, method->ml_name);
        method->ml_doc = text ? PyUnicode_AsUTF8(text) : NULL;
    }
    Py_INCREF(documents);
    kept = documents;
}

/* configure(form, to_array, shape, batch, finite, singular, processors, documents, class): the objects above, how
   many processors a large batch may use, and what help() says. */
static PyObject *configure(PyObject *module, PyObject *args)
{
    PyObject *form, *array, *shape, *batch, *finite, *singular, *documents, *class;
    int allowed;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOiO!O", &form, &array, &shape, &batch, &finite, &singular, &allowed, &PyDict_Type,
                          &documents, &class))
        return NULL;
    document(documents);
    processors = allowed < 1 ? 1 : allowed > 16 ? 16 : allowed;
    replace(&find_form, form);
    replace(&to_array, array);
    replace(&shape_error, shape);
    replace(&batch_error, batch);
    replace(&finite_error, finite);
    replace(&singular_error, singular);
    replace(&model_class, class);
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {{"configure", configure, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, KD_TITLE, NULL, -1, module_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC KD_INIT(void)
{
    import_array();
    if (PyType_Ready(&kernel_type) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&module_definition);
    if (!module)
        return NULL;
    Py_INCREF(&kernel_type);
    if (PyModule_AddObject(module, "Kernel", (PyObject *)&kernel_type) < 0) {
        Py_DECREF(&kernel_type);
        Py_CLEAR(module);
    }
    return module;
}
