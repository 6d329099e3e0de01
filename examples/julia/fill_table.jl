# Fills the gap of a series by the weights for any table: julia fill_table.jl, with a shared library (-Ddefault_library=shared).
struct Table  # npzoo_table
    rows::Int64
    inputs::Int64
    values::Int64
    x::Ptr{Cdouble}
    y::Ptr{Cdouble}
    groups::Ptr{UInt32}
    targets::Int64
    target_x::Ptr{Cdouble}
    target_groups::Ptr{UInt32}
    quantiles::Int64
    probabilities::Ptr{Cdouble}
end

function fill_series(x::Vector{Float64}, y::Vector{Float64})
    mean, std = similar(x), similar(x)
    GC.@preserve x y begin
        table = Ref(Table(length(x), 1, 1, pointer(x), pointer(y), C_NULL, 0, C_NULL, C_NULL, 0, C_NULL))
        status = ccall((:npzoo_fill, "libnpzoo"), Cint, (Ptr{Cvoid}, Ref{Table}, Ptr{Cdouble}, Ptr{Cdouble}, Ptr{Cdouble}),
                       C_NULL, table, mean, std, C_NULL)
    end
    status == 0 || error(unsafe_string(ccall((:npzoo_last_error, "libnpzoo"), Cstring, ())))
    return mean, std
end

x = collect(0.0:9.0)
y = 20 .+ sin.(x)
y[5:6] .= NaN
mean, std = fill_series(x, y)
for i in eachindex(x)
    println(x[i], "  ", round(mean[i], digits = 2), " +- ", round(std[i], digits = 2))
end
